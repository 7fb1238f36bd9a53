"""Tagging with a beam, exactly with two labels before, and with observed transitions: what `beam.py` measures of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from harness.batches import PERCEPTRON, Study, spread
from harness.benchmark import Benchmark
from harness.data_sets import QUICK_SEQUENCES as QUICK
from harness.figures import best_score, final_score
from harness.package import tagging_seconds
from harness.problem import Adapter, Problem
from harness.runs import Planned, Record
from harness.sequences import entities, read_conll, tags
from harness.tables import percent, print_table
from marginloom import SequenceTagger

BROWN, CONLL2000, CONLL2003, CONLL2002 = "brown_pos", "conll2000", "conll2003_en", "conll2002_es"
SETS = (BROWN, CONLL2000, CONLL2003, CONLL2002)
#: Folder and column of the parts of speech.
TAGS = {BROWN: ("brown_pos", 2), CONLL2000: ("conll2000_chunking", 1)}
#: Column of the entities; a training sentence of conll2002_es starts with I-LOC.
ENTITIES = {CONLL2003: 3, CONLL2002: 2}
SEARCHES: dict[str, dict[str, Any]] = {"first order": {}, "beam 8": {"beam": 8}, "order 2": {"order": 2}}
SEEDS = (0, 1, 2)
PASSES = 10
SPEED_PASSES, SPEED_SENTENCES = 5, 8_000
OBSERVED = ("ner", "ner-observed")
TAGGING = replace(PERCEPTRON, sizes=(8, 16, 24, 32))


@dataclass(frozen=True)
class Tagger:
    """How a tagger of a data set is made."""

    corpus: str
    search: str = "first order"
    features: str = "ner"  # of entities; those of parts of speech are `tagging`

    def adapter(self) -> Adapter:
        """Return what reads the data."""
        search = SEARCHES[self.search]
        if self.corpus in TAGS:
            folder, column = TAGS[self.corpus]
            return tags(f"{self.corpus}, {self.search}", folder, column, "tagging", **search)
        name = f"{self.corpus}, {self.features}, {self.search}"
        options = {"corpus": self.corpus, "feature_set": self.features, "invalid_gold": "repair"}
        return entities(name, ENTITIES[self.corpus], "bio", **options, **search)


def accuracy(benchmark: Benchmark) -> None:
    """Score the test part with each search."""
    rows = []
    for corpus, search in product(_sets(benchmark, BROWN, CONLL2000, CONLL2003), SEARCHES):
        problem = _problem(benchmark, Tagger(corpus, search))
        found = _runs(benchmark, problem, "accuracy")
        if found:
            rows.append([corpus, problem.score_name, search, *_scores(found), _tokens(benchmark, problem, found)])
    header = ["data", "score", "search", f"after {PASSES} passes", "best", "training tokens a second"]
    print_table("averaged perceptron, test part, three seeds", header, rows)


def observations(benchmark: Benchmark) -> None:
    """Score entities on the development part, with and without observed transitions."""
    rows = []
    for corpus, features in product(_sets(benchmark, *ENTITIES), OBSERVED):
        problem = _problem(benchmark, Tagger(corpus, features=features), development=True)
        certified = Planned.of(problem, "dcd-ssvm", "dcd-ssvm", group="observations", tol=0.01, every_pass=False)
        benchmark.run([certified])
        online = _runs(benchmark, problem, "observations")
        exact = [one for one in benchmark.records(problem.name, "observations") if one.settings.name == "dcd-ssvm"]
        if online and exact:
            rows.append([
                corpus, features, f"{final_score(exact[0]):.4f}", percent(exact[0].certified_gap, "{:.2f} %"),
                f"{exact[0].seconds(benchmark.clock):.1f}", *_scores(online),
            ])  # fmt: skip
    header = ["data", "features", "f1, dcd-ssvm", "gap", "s", f"f1, perceptron, {PASSES} passes", "best"]
    print_table("entities, development part, C = 0.1; three seeds of the perceptron", header, rows)


def speed(benchmark: Benchmark) -> None:
    """Measure tokens a second on one thread: of training, of tagging words, and of the search alone."""
    rows = []
    for corpus in _sets(benchmark, *TAGS):
        folder, column = TAGS[corpus]
        train, test = (
            read_conll(benchmark.data / folder / f"{part}.conll.xz", (0,), column).some(count)
            for part, count in (("train", _count(benchmark) or SPEED_SENTENCES), ("test", _count(benchmark)))
        )
        tokens = sum(map(len, train.X)), sum(map(len, test.X))
        found: dict[str, list[float]] = {}
        for search, options in SEARCHES.items():
            tagger = SequenceTagger(
                "averaged-perceptron", features="tagging", max_iter=SPEED_PASSES, random_state=0, **options
            )
            tagger.fit(train.X, train.y)
            seconds = tagger.history_[-1]["seconds"] / SPEED_PASSES
            words, alone = (tagging_seconds(tagger, test.X, extracting=extracting) for extracting in (True, False))
            found[search] = [tokens[0] / seconds, tokens[1] / words, tokens[1] / alone]
            shares = (one / first for one, first in zip(found[search], found["first order"], strict=True))
            rows.append([corpus, search, *_with_shares(found[search], shares)])
    header = ["data", "search", "training", "tagging words", "search alone"]
    print_table("tokens a second on one thread (share of first order)", header, rows)


def _with_shares(rates: Sequence[float], shares: Iterator[float]) -> list[str]:
    return [f"{rate:,.0f} ({share:.2f})" for rate, share in zip(rates, shares, strict=True)]


def batches(benchmark: Benchmark) -> None:
    """Compare sizes of batches (Figure 5)."""
    for study in _studies(benchmark):
        study.run()
        study.size_table()


def threads(benchmark: Benchmark) -> None:
    """Show what threads bring (Figures 6 to 8)."""
    for study in _studies(benchmark):
        study.run()
        study.run_on_two()
        study.two_thread_table()
        study.thread_table()
        study.waiting_table()
        for path in study.draw():
            print(f"drawn: {path}")


def _studies(benchmark: Benchmark) -> Iterator[Study]:
    for corpus in _sets(benchmark, *TAGS):
        yield Study(benchmark, _problem(benchmark, Tagger(corpus, "beam 8")), TAGGING, passes=PASSES, seeds=SEEDS)


def _runs(benchmark: Benchmark, problem: Problem, group: str) -> list[Record]:
    """Make a run of the averaged perceptron for every seed."""
    algorithm = "averaged-perceptron"
    planned = [
        Planned.of(problem, f"{algorithm}, seed {seed}", algorithm, seed=seed, group=group, max_iter=PASSES)
        for seed in SEEDS
    ]
    benchmark.run(planned)
    found = benchmark.records(problem.name, group)
    return [one for one in found if one.settings.algorithm == algorithm and one.rows]


def _scores(runs: Sequence[Record]) -> list[str]:
    return [spread([value(record) or 0.0 for record in runs]) for value in (final_score, best_score)]


def _tokens(benchmark: Benchmark, problem: Problem, runs: Sequence[Record]) -> str:
    """Return tokens a second of training."""
    corpus = problem.name.partition(",")[0]
    folder, label = TAGS.get(corpus, (corpus, ENTITIES.get(corpus)))
    columns = (0,) if corpus in TAGS else (0, 1)
    part = read_conll(benchmark.data / folder / "train.conll.xz", columns, label).some(_count(benchmark))
    passes = sum(len(record.rows) for record in runs)
    return f"{sum(map(len, part.X)) * passes / sum(record.seconds(benchmark.clock) for record in runs):,.0f}"


def _sets(benchmark: Benchmark, *names: str) -> list[str]:
    return [name for name in names if name in benchmark.sets]


def _count(benchmark: Benchmark) -> int | None:
    return QUICK if benchmark.arguments.quick else None


def _problem(benchmark: Benchmark, tagger: Tagger, *, development: bool = False) -> Problem:
    problem = tagger.adapter()(benchmark.data, _count(benchmark))
    if development:
        assert problem.development is not None
        problem = replace(problem.development(), name=f"{problem.name}, development")
    benchmark.describe(problem)
    return problem


PARTS: Mapping[str, Callable[[Benchmark], None]] = {
    "accuracy": accuracy,
    "observations": observations,
    "speed": speed,
    "batches": batches,
    "threads": threads,
}
