"""Measure dependency parsers: scores by kind of trees and learner, sentences a second, shards and threads.

- `C`: dcd-ssvm chooses C on the development part with projective trees of first order, to a gap of 5 %.
- `trees`: test scores of each kind of trees with that C, to 1 %; the Dutch ones are scored on both parts together.
- `learners`: dcd-ssvm beside perceptron, MIRA and SGD (Table 1 of dcd-ssvm-2013), projective trees of first order.
- `systems`: the perceptron on all data, on a shard, mixed once and mixed after every pass, ten shards, plain and
  averaged (Figure 5 of parameter-mixing-2010).
- `speed`: sentences a second of training and of parsing, on one thread; and where the features of right arcs, and no
  others, are numbered and found before training, of that ("encoding") and of training.
- `approximate`: trees of second order that need not be projective, which are not searched exactly, by engine: what the
  section 6 of demi-dcd-2013 leaves open. The gap is an estimate.
- `threads`: inferences a second and seconds to a gap of 1 % by engine, projective trees of first order, with features
  that are made for every search and with kept ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from harness.benchmark import Benchmark, Perform
from harness.command import Question
from harness.figures import best_score, final_score, first_within, ratio, seconds_to_score
from harness.package import predict_all
from harness.problem import Problem
from harness.runs import COARSE_GAP, Planned, Record, Settings, perform
from harness.tables import number, percent, print_table
from harness.treebanks import FIRST, KEPT, REARRANGED, SIBLINGS, VARIANTS

CORPORA = ("ud_english_ewt", "wsj_sample_dep", "ud_dutch_lassysmall")
ENGLISH = "ud_english_ewt"
CHOICES_OF_C = (0.001, 0.003, 0.01, 0.03)
CHOICE_GAP = 0.05
GROUPS = ("C", "trees", "learners", "systems", "speed", "approximate", "threads")
LEARNERS = ("dcd-ssvm", "averaged-perceptron", "perceptron", "mira", "sgd")
SYSTEMS = ("averaged-perceptron", "subsample", "parameter-mixing", "ipm")
SHARDS, ONLINE_PASSES, MOST_PASSES = 10, 10, 200
ENGINES = ("ms-dcd", "demi-dcd", "shared-dcd")
QUESTION = Question("parsing", __doc__, CORPORA, budget=(300.0, 5.0), threads=(1, 2), clock=True)


def main() -> None:
    parser = QUESTION.parser()
    parser.add_argument("--part", choices=GROUPS, action="append", help="only this; may be repeated")
    benchmark = Benchmark(QUESTION, QUESTION.arguments(parser))
    parts = benchmark.arguments.part or GROUPS
    for corpus in benchmark.sets:
        _choose(benchmark, corpus)
        for part in (part for part in parts if part in PARTS):
            PARTS[part](benchmark, corpus)
    tables(benchmark)
    benchmark.end()


def _choose(benchmark: Benchmark, name: str) -> None:
    """Try every C on the development part; all other parts need it."""
    problem = benchmark.problem(name)
    assert problem.development is not None
    development = problem.development()
    options = {"group": "C", "max_iter": MOST_PASSES, "tol": CHOICE_GAP, "every_pass": False}
    benchmark.run([Planned.of(development, f"C = {C:g}", "dcd-ssvm", C=C, **options) for C in CHOICES_OF_C])


def best_cost(benchmark: Benchmark, name: str) -> float:
    """Return the C whose last pass scored highest; a middle one if none was tried."""
    scores = {record.settings.C: final_score(record) or 0.0 for record in benchmark.records(name, "C")}
    return max(sorted(scores), key=lambda C: scores[C]) if scores else CHOICES_OF_C[-2]


def _trees(benchmark: Benchmark, corpus: str) -> None:
    for trees in VARIANTS:
        name = f"{corpus} {trees.name}".strip()
        options = {"C": best_cost(benchmark, corpus), "max_iter": MOST_PASSES, "tol": COARSE_GAP, "group": "trees"}
        _run(benchmark, name, [("dcd-ssvm", "dcd-ssvm", {**options, "every_pass": False})])


def _learners(benchmark: Benchmark, corpus: str) -> None:
    C = best_cost(benchmark, corpus)
    passes = {"max_iter": 2 * ONLINE_PASSES, "tol": COARSE_GAP, "group": "learners", "C": C}
    _run(benchmark, corpus, [(name, name, passes) for name in LEARNERS])


def _systems(benchmark: Benchmark, corpus: str) -> None:
    if corpus != ENGLISH:
        return
    threads = min(max(benchmark.threads), SHARDS)
    planned = []
    for averaged in (False, True):
        for name in SYSTEMS:
            parallel = name in ("parameter-mixing", "ipm")
            options = {
                "group": "systems",
                "max_iter": 2 * ONLINE_PASSES,
                "learner": {"averaged": averaged},
                "engine": {} if name == "averaged-perceptron" else {"shards": SHARDS},
                "threads": threads if parallel else 1,
            }
            planned.append((f"{name}, {'averaged' if averaged else 'plain'}", name, options))
    _run(benchmark, corpus, planned)


def _speed(benchmark: Benchmark, corpus: str) -> None:
    for trees in (FIRST, KEPT, SIBLINGS):
        name = f"{corpus} {trees.name}".strip()
        options = {
            "max_iter": ONLINE_PASSES // 2,
            "group": "speed",
            "every_pass": False,
            "C": best_cost(benchmark, corpus),
        }
        planned = [(algorithm, algorithm, options) for algorithm in ("averaged-perceptron", "dcd-ssvm")]
        _run(benchmark, name, planned)
        once, more = {**options, "max_iter": 1}, ("encoding", _encode) if trees is KEPT else ("parsing", _parse)
        _run(benchmark, name, [(more[0], "averaged-perceptron", once)], more[1])


def _parse(problem: Problem, settings: Settings) -> Record:
    """Parse the training part, on the clock."""
    return _timed(problem, settings, lambda: predict_all(problem.task))


def _encode(problem: Problem, settings: Settings) -> Record:
    """Make the task again, on the clock."""
    return _timed(problem, settings, lambda: problem.make())


def _timed(problem: Problem, settings: Settings, call: Callable[[], object]) -> Record:
    """Return a record of the seconds of a call, with all sentences as inferences."""
    record = perform(problem, settings)
    start, cpu = time.perf_counter(), time.process_time()
    call()
    row = {**record.rows[-1], "wall": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    row["inferences"] = problem.size
    return Record(settings, record.stopped, 0.0, None, [row])


def _approximate(benchmark: Benchmark, corpus: str) -> None:
    name = f"{corpus} {REARRANGED.name}"
    C, most = best_cost(benchmark, corpus), max(benchmark.threads)
    options = {"group": "approximate", "max_iter": 30, "tol": COARSE_GAP, "C": C, "every_pass": False}
    planned = [("dcd-ssvm", "dcd-ssvm", options)]
    planned += [(f"{engine}, {most} threads", engine, {**options, "threads": most}) for engine in ENGINES if most > 1]
    _run(benchmark, name, planned)
    exact = [("projective, dcd-ssvm", "dcd-ssvm", {**options, "C": C})]
    _run(benchmark, f"{corpus} {SIBLINGS.name}", exact)


def _threads(benchmark: Benchmark, corpus: str) -> None:
    if corpus != ENGLISH:
        return
    C = best_cost(benchmark, corpus)
    options = {"group": "threads", "max_iter": MOST_PASSES, "tol": COARSE_GAP, "C": C, "every_pass": False}
    planned = [("dcd-ssvm, 1", "dcd-ssvm", options)]
    mixing = {**options, "max_iter": ONLINE_PASSES, "engine": {"shards": SHARDS}}
    planned.append(("averaged-perceptron, 1", "averaged-perceptron", {**options, "max_iter": ONLINE_PASSES}))
    for count in (count for count in benchmark.threads if count > 1):
        planned += [(f"{engine}, {count}", engine, {**options, "threads": count}) for engine in ENGINES]
        planned.append((f"ipm, {count}", "ipm", {**mixing, "threads": count, "engine": {"shards": count}}))
    for trees in (FIRST, KEPT):
        _run(benchmark, f"{corpus} {trees.name}".strip(), planned)


PARTS = {
    "trees": _trees,
    "learners": _learners,
    "systems": _systems,
    "speed": _speed,
    "approximate": _approximate,
    "threads": _threads,
}


def _run(benchmark: Benchmark, name: str, planned: Iterable[tuple], perform: Perform = perform) -> None:
    problem = benchmark.problem(name)
    benchmark.run([Planned.of(problem, run, algorithm, **options) for run, algorithm, options in planned], perform)


def tables(benchmark: Benchmark) -> None:
    """Print what is stored."""
    clock = benchmark.clock
    choices = {name: list(runs.values()) for name, runs in benchmark.of_all_sets("C").items()}
    header = ["trees", *(f"C = {C:g}" for C in CHOICES_OF_C)]
    print_table("choice of C: development uas of dcd-ssvm", header, [_choice(*item) for item in choices.items()])
    header = ["trees", "run", "C", "uas", "best uas", "passes", f"{clock} s", "sentences a second", "gap", "end"]
    for group in GROUPS[1:]:
        found = benchmark.of_all_sets(group)
        rows = [_described(record, clock) for runs in found.values() for record in runs.values() if record.rows]
        print_table(group, header, rows)
    rows = [row for runs in benchmark.of_all_sets("threads").values() for row in _speed_ups(list(runs.values()))]
    times = ["inferences a second, times", "to 1 %, times shorter", "serial to its uas, s", "to the same, s"]
    print_table("threads against one", ["trees", "run", *times], rows)


def _choice(name: str, records: Sequence[Record]) -> list[str]:
    scores = {record.settings.C: final_score(record) for record in records}
    return [name, *(number(scores.get(C), "{:.4f}") for C in CHOICES_OF_C)]


def _described(record: Record, clock: str) -> list[str]:
    last, settings = record.rows[-1], record.settings
    return [
        settings.data,
        settings.name,
        f"{settings.C:g}" if record.certificate or last["dual"] else "-",
        number(final_score(record), "{:.4f}"),
        f"{best_score(record):.4f}",
        str(last["pass"]),
        f"{last[clock]:.2f}",
        f"{last['inferences'] / last[clock]:,.0f}",
        percent(record.certified_gap if record.certified_gap is not None else last["trace_gap"], "{:.2f} %"),
        record.stopped,
    ]


def _speed_ups(records: Sequence[Record]) -> Iterator[list[str]]:
    """Compare the runs of one problem with those on one thread."""
    serial = {record.settings.algorithm: record for record in records if record.settings.threads == 1}
    for record in records:
        base = serial.get("averaged-perceptron" if record.settings.algorithm == "ipm" else "dcd-ssvm")
        if record.settings.threads == 1 or base is None or not record.rows:
            continue
        reached, before = (first_within(one, COARSE_GAP, "trace_gap") for one in (record, base))
        goal = final_score(base) or 1.0
        yield [
            record.settings.data,
            record.settings.name,
            number(ratio(_rate(record), _rate(base))),
            number(ratio(before and before["wall"], reached and reached["wall"])),
            number(seconds_to_score(base, goal)),
            number(seconds_to_score(record, goal)),
        ]


def _rate(record: Record) -> float:
    return record.rows[-1]["inferences"] / record.rows[-1]["wall"]


if __name__ == "__main__":
    main()
