"""Measure how fast a tagger trains on one thread, to which certified gap and accuracy, and how fast it tags.

Part-of-speech tags of CoNLL-2000 from words alone. Every line is repeated and the fastest run is shown with the spread,
because machines are noisy; seconds are training with its last certificate, without reading and feature encoding.

Tagging is measured from columns in memory to labels, encoding included: on native threads, and from several Python
threads at once that share one model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.figures import final_score
from harness.files import required
from harness.package import available_cores, read_columns, tag_columns
from harness.runs import Planned, Record
from harness.sequences import read_conll
from harness.tables import number, percent, print_table

from marginloom import SequenceTagger

DATA = "conll2000-words"
FILE = "conll2000_chunking/train.conll.xz"
QUESTION = Question("tagging_speed", __doc__, (DATA,), budget=(120.0, 2.0), repeat=3)
LINES: dict[str, dict[str, Any]] = {
    "dcd-ssvm to a 1 % gap": {"algorithm": "dcd-ssvm", "tol": 0.01, "max_iter": 500},
    "dcd-ssvm to a 0.1 % gap": {"algorithm": "dcd-ssvm", "tol": 0.001, "max_iter": 500},
    "dcd-light to a 1 % gap": {"algorithm": "dcd-light", "tol": 0.01, "max_iter": 500},
    "averaged-perceptron, 10 passes": {"algorithm": "averaged-perceptron", "max_iter": 10},
    "perceptron, 10 passes": {"algorithm": "perceptron", "max_iter": 10},
}


def main() -> None:
    benchmark = Benchmark(QUESTION)
    problem = benchmark.problem(DATA)
    benchmark.run(Planned.of(problem, name, every_pass=False, **options) for name, options in LINES.items())
    header = ["algorithm", "seconds", "spread", "passes", "primal", "dual", "gap", "test accuracy"]
    rows = [_row(name, records) for name, records in benchmark.repeats(DATA).items()]
    print_table("conll2000, part of speech, words alone: the fastest run of each", header, rows)
    if not benchmark.left:
        header = ["threads", "native, tokens a second", "Python threads, tokens a second"]
        print_table("tagging the training sentences", header, _tagging_rows(benchmark))
    benchmark.end()


def _row(name: str, records: Sequence[Record]) -> list[str]:
    seconds = sorted(record.seconds() + record.certify_seconds for record in records)
    record = min(records, key=lambda one: one.seconds() + one.certify_seconds)
    proof = record.certificate or {}
    return [
        name,
        number(seconds[0]),
        f"{seconds[0]:.2f} to {seconds[-1]:.2f}",
        str(len(record.rows)),
        number(proof.get("primal"), "{:.1f}"),
        number(proof.get("dual"), "{:.1f}"),
        percent(record.certified_gap, "{:.2f} %"),
        number(final_score(record), "{:.4f}"),
    ]


def _tagging_rows(benchmark: Benchmark) -> list[list[str]]:
    path = required(benchmark.data / FILE)
    sentences = read_conll(path, (0,), 1)
    passes = 2 if benchmark.arguments.quick else None
    tagger = SequenceTagger(features="words", C=0.1, max_iter=passes, n_threads=1).fit(sentences.X, sentences.y)
    columns = read_columns(path)
    tokens = sum(map(len, sentences.y))

    def python_threads(count: int) -> None:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda _: tag_columns(tagger, columns, 1), range(count)))

    return [
        [
            str(count),
            f"{tokens / _fastest(lambda count=count: tag_columns(tagger, columns, count)):,.0f}",
            f"{count * tokens / _fastest(lambda count=count: python_threads(count)):,.0f}",
        ]
        for count in (1, 2, 4, 8, 16)
        if count <= available_cores()
    ]


def _fastest(work: Callable[[], object], repeat: int = 5) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
