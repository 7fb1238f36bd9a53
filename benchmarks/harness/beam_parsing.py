"""Parsing from left to right with a beam: what `beam.py` measures of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from harness import udpipe
from harness.batches import MIRA, Study, spread
from harness.benchmark import Benchmark
from harness.clocks import Clocks
from harness.data_sets import QUICK_SEQUENCES as QUICK
from harness.figures import best_score, final_score, measured
from harness.package import parse_score, parsing_seconds
from harness.problem import Problem
from harness.runs import Planned, Record
from harness.tables import number, print_table
from harness.treebanks import FIRST, Sentences, Trees, read_part, trees_of, write_conllu
from marginloom import DependencyParser, read_conllu

ENGLISH, WSJ = "ud_english_ewt", "wsj_sample_dep"
SETS = (ENGLISH, WSJ)
BEAM = Trees("beam 8", beam=8)
SEEDS = (0, 1, 2)
PASSES = 12
BEAMS = (1, 2, 4, 8, 16, 32, 64)
PEER_BEAMS, UDPIPE_ITERATIONS = (1, 8, 16), 5
BEAM_PASSES, UPDATE_PASSES, SPEED_PASSES, BATCH_PASSES = 5, 16, 10, 8
#: Words of generated sentences.
LONG, LENGTHS = 60, (100, 200, 300, 400, 500)


def features(benchmark: Benchmark) -> None:
    """Compare the sets of templates on the development part."""
    sets = ("states-rich", "states")
    kinds = [replace(BEAM, name=f"beam 8, {name}", features=name) for name in sets]
    planned = [(trees, name, "minibatch-mira") for trees, name in zip(kinds, sets, strict=True)]
    rows = _scores(benchmark, planned, "features", development=True)
    print_table("sets of templates, development part", [*HEADER, "training sentences a second"], rows)


def accuracy(benchmark: Benchmark) -> None:
    """Score the test part, beside graphs of first order."""
    planned = [(BEAM, "beam 8, minibatch-mira", "minibatch-mira"), (BEAM, "beam 8, mira", "mira")]
    planned += [(FIRST, f"graph, {name}", name) for name in ("mira", "averaged-perceptron")]
    rows = _scores(benchmark, planned, "accuracy")
    print_table("test part", [*HEADER, "training sentences a second"], rows)


HEADER = ("treebank", "parser", f"uas after {PASSES} passes", "best uas")


def _scores(
    benchmark: Benchmark, planned: Sequence[tuple[Trees, str, str]], group: str, *, development: bool = False
) -> list[list[str]]:
    """Make runs of several seeds, and return a row for each parser."""
    rows = []
    for corpus, (trees, name, algorithm) in product(_sets(benchmark), planned):
        problem = _problem(benchmark, corpus, trees, development=development)
        options = {"group": group, "max_iter": PASSES}
        runs = [Planned.of(problem, f"{name}, seed {seed}", algorithm, seed=seed, **options) for seed in SEEDS]
        benchmark.run(runs)
        found = [one for one in benchmark.records(problem.name, group) if one.settings.name.startswith(f"{name}, seed")]
        if not found:
            continue
        rate = sum(len(one.rows) for one in found) * problem.size / sum(one.seconds(benchmark.clock) for one in found)
        scores = [[value(record) or 0.0 for record in found] for value in (final_score, best_score)]
        rows.append([corpus, name, *map(spread, scores), f"{rate:,.0f}"])
    return rows


def beams(benchmark: Benchmark) -> None:
    """Compare beams, with and without merging."""
    rows = []
    for corpus, beam in product(_sets(benchmark), BEAMS):
        for merging in (True, False):
            trees = Trees(f"beam {beam}{'' if merging else ', no merging'}", beam=beam, merging=merging)
            problem = _problem(benchmark, corpus, trees)
            options = {"group": "beams", "max_iter": BEAM_PASSES}
            benchmark.run([Planned.of(problem, "minibatch-mira", "minibatch-mira", **options)])
            for record in benchmark.records(problem.name, "beams"):
                rows.append([
                    corpus, str(beam), "yes" if merging else "no", number(final_score(record), "{:.4f}"),
                    f"{best_score(record):.4f}", f"{_rate(record, problem, benchmark):,.0f}",
                ])  # fmt: skip
    header = ["treebank", "beam", "merging", f"uas after {BEAM_PASSES} passes", "best uas", "sentences a second"]
    print_table("beams, test part, minibatch-mira", header, rows)


def updates(benchmark: Benchmark) -> None:
    """Compare which prefixes are learnt from, on the development part."""
    rows = []
    for corpus in _sets(benchmark):
        curves = {}
        for update in ("max-violation", "early", "standard"):
            trees = replace(BEAM, name=f"beam 8, {update}", update=update)
            problem = _problem(benchmark, corpus, trees, development=True)
            options = {"group": "updates", "max_iter": UPDATE_PASSES}
            benchmark.run([Planned.of(problem, f"seed {seed}", "mira", seed=seed, **options) for seed in SEEDS])
            runs = benchmark.records(problem.name, "updates")
            scores = [[row["score"] for row in measured(record)] for record in runs]
            curves[update] = [sum(one) / len(one) for one in zip(*scores, strict=False)]
        goal = max(curves["early"], default=1.0)
        for update, curve in ((name, found) for name, found in curves.items() if found):
            reached = next((str(k) for k, score in enumerate(curve, 1) if score >= goal), "-")
            rows.append([
                corpus, update, f"{curve[0]:.4f}", f"{curve[-1]:.4f}", f"{max(curve):.4f}",
                str(curve.index(max(curve)) + 1), reached,
            ])  # fmt: skip
    header = ["treebank", "update", "uas after 1 pass", f"after {UPDATE_PASSES}", "best", "in pass"]
    header.append("passes to the best of early")
    print_table("updates, development part, online MIRA, mean of three seeds", header, rows)


def peers(benchmark: Benchmark) -> None:
    """Compare with UDPipe on English with labels, both on gold parts of speech; training and parsing on one thread."""
    if ENGLISH not in benchmark.sets:
        return
    train, test = (read_part(benchmark.data, ENGLISH, part, _count(benchmark)) for part in ("train", "test"))
    rows = [_udpipe(benchmark, train, test)]
    for beam in PEER_BEAMS:
        parser = DependencyParser(method="transition", beam=beam, xpos=True, labelled=True, n_threads=1)
        training, parsing = Clocks(), Clocks()
        with training.running():
            parser.fit(train.X, train.y)
        with parsing.running():
            found = parser.predict(test.X)
        rows.append([f"marginloom, beam {beam}", *_peer_scores(test, found, training.cpu, parsing.cpu)])
    header = ["parser", "uas", "las", "CPU s of training", "sentences parsed a second"]
    print_table("ud_english_ewt, labelled, test part", header, [row for row in rows if row])
    print("Yara, MaltParser and the arc-standard parser of the paper are not Python packages: left out")


def _udpipe(benchmark: Benchmark, train: Sentences, test: Sentences) -> list[str]:
    if missing := udpipe.is_missing():
        print(missing)
        return []
    texts = {part: benchmark.folder / f"udpipe.{part}.conllu" for part in ("train", "test", "parsed")}
    for part, sentences in (("train", train), ("test", test)):
        write_conllu(texts[part], sentences)
    model = benchmark.folder / "udpipe.model"
    seconds = udpipe.train(texts["train"], model, UDPIPE_ITERATIONS, benchmark.arguments.budget)
    if seconds is None:
        print(f"UDPipe had not made {UDPIPE_ITERATIONS} passes in {benchmark.arguments.budget:g} s: left out")
        return []
    parsing = udpipe.parse(model, texts["test"], texts["parsed"])
    _, found = read_conllu(texts["parsed"])
    name = f"UDPipe 1, {UDPIPE_ITERATIONS} passes, no beam"
    return [name, *_peer_scores(test, found, seconds, parsing or 0.0)]


def _peer_scores(test: Sentences, found: Any, training: float, parsing: float) -> list[str]:
    scores = parse_score(test.X, test.y, found)
    return [f"{scores['uas']:.4f}", f"{scores['las']:.4f}", f"{training:.1f}", f"{len(test.X) / parsing:,.0f}"]


def speed(benchmark: Benchmark) -> None:
    """Measure sentences a second, and what long sentences take."""
    if ENGLISH not in benchmark.sets:
        return
    kinds = (("order 1", FIRST), ("order 2", Trees("order 2", order=2)), ("beam 8", BEAM))
    rows, by_parser = [], {}
    for name, trees in kinds:
        problem = _problem(benchmark, ENGLISH, trees)
        options = {"group": "speed", "max_iter": SPEED_PASSES, "every_pass": False}
        benchmark.run([Planned.of(problem, name, "mira" if trees.beam is None else "minibatch-mira", **options)])
        for record in benchmark.records(problem.name, "speed"):
            rows.append([name, record.settings.algorithm, f"{_rate(record, problem, benchmark):,.0f}"])
        by_parser[name] = _long(benchmark, trees)
    print_table("training on one thread", ["parser", "algorithm", "sentences a second"], rows)
    names = list(next(iter(by_parser.values())))
    table = [[name, *(f"{1e6 * seconds[of]:.2f}" for of in names)] for name, seconds in by_parser.items()]
    for name in ("order 1", "order 2"):
        ratios = (f"{by_parser[name][of] / by_parser['beam 8'][of]:.1f}" for of in names)
        table.append([f"{name} / beam 8", *ratios])
    print_table("parsing, microseconds a word, trained weights", ["parser", *names], table)


def _long(benchmark: Benchmark, trees: Trees) -> dict[str, float]:
    """Return the CPU seconds a word of parsing with trained weights, by kind of sentences."""
    training = read_part(benchmark.data, ENGLISH, "train", _count(benchmark))
    kinds = {"60 words or more": [words for words in training.X if len(words) >= LONG]}
    every = [word for words in training.X for word in words]
    rng = np.random.default_rng(0)
    for length in LENGTHS:
        places = rng.integers(0, len(every), (max(2_000 // length, 1), length))
        kinds[f"{length} words"] = [[every[place] for place in row] for row in places]
    parser = DependencyParser("mira", **trees.options, xpos=True, max_iter=3, n_threads=1)
    parser.fit(training.X, [[head for head, _ in tree] for tree in training.y])
    return {name: parsing_seconds(parser, some) / sum(map(len, some)) for name, some in kinds.items() if some}


def batches(benchmark: Benchmark) -> None:
    """Compare sizes of batches."""
    for study in _studies(benchmark):
        study.run()
        study.size_table()


def threads(benchmark: Benchmark) -> None:
    """Show what threads bring."""
    for study in _studies(benchmark):
        study.run()
        study.run_on_two()
        study.two_thread_table()
        study.thread_table()
        study.waiting_table()
        for path in study.draw():
            print(f"drawn: {path}")


def _studies(benchmark: Benchmark) -> Iterator[Study]:
    for corpus in _sets(benchmark):
        yield Study(benchmark, _problem(benchmark, corpus, BEAM), MIRA, passes=BATCH_PASSES, seeds=SEEDS)


def _sets(benchmark: Benchmark) -> list[str]:
    return [corpus for corpus in SETS if corpus in benchmark.sets]


def _count(benchmark: Benchmark) -> int | None:
    return QUICK if benchmark.arguments.quick else None


def _problem(benchmark: Benchmark, corpus: str, trees: Trees, *, development: bool = False) -> Problem:
    problem = trees_of(corpus, trees)(benchmark.data, _count(benchmark))
    if development:
        assert problem.development is not None
        problem = replace(problem.development(), name=f"{problem.name}, development")
    benchmark.describe(problem)
    return problem


def _rate(record: Record, problem: Problem, benchmark: Benchmark) -> float:
    """Return sentences a second of training."""
    return len(record.rows) * problem.size / record.seconds(benchmark.clock)


PARTS: dict[str, Callable[[Benchmark], None]] = {
    "features": features,
    "accuracy": accuracy,
    "beams": beams,
    "updates": updates,
    "peers": peers,
    "speed": speed,
    "batches": batches,
    "threads": threads,
}
