"""Measure the extraction of entities and relations on CoNLL-2004: scores, both solvers, and what threads bring.

- `settings`: losses, then C, chosen by the mean of the F1 of entities and of relations on dev (trained on train) and in
  five folds over train and dev.
- `test`: with these, trained on train and on train and dev, scored on test; once with the entities of a tagger.
- `folds`: five folds over all 1,441 sentences.
- `constraints`: joint training, independent training with constraints in prediction, and no constraints.
- `solvers`: the native solver beside the integer program, sentence by sentence, with weights of 0 and at the end.
- `all`: seconds to a certified gap of 1 % on 80 % of all sentences, as in section 5 of demi-dcd-2013.
- `threads`: Figures 1 to 4 of demi-dcd-2013 with both solvers, and what 4 to 16 threads would do, computed from the
  seconds of every search and of the updates.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from harness.clocks import Clocks
from harness.command import Question
from harness.entities import PARTS, Calls, Encoded, Sentences, as_bio, eighty_twenty, encode, folds, read_part
from harness.files import data_folder
from harness.pictures import line, logarithmic, one_each
from harness.solver_race import Run, computed, race
from harness.tables import machine, number, percent, print_table

from marginloom import RelationExtractor, SequenceTagger, train

GROUPS = ("settings", "test", "folds", "constraints", "solvers", "all", "threads")
CHOICES_OF_C = (0.03, 0.1, 0.3)
CHOICES_OF_ENTITY = (1.0, 2.0)
CHOICES_OF_MISSED = (1.0, 1.5, 2.0, 3.0)
PAPER_C, PAPER_GAP = 0.1, 0.01
SCORES = ("entity_f1", "entity_macro_f1", "relation_f1", "relation_f1_strict", "relation_macro_f1")
#: Sentences that the integer program trains on.
FEW = 1_000
COMPUTED = (2, 4, 8, 16)  # threads
QUESTION = Question("relations", __doc__, ("conll04",), budget=(40.0, 3.0), threads=(1, 2))


def main() -> None:
    parser = QUESTION.parser()
    parser.add_argument("--part", choices=GROUPS, action="append", help="only this; may be repeated")
    arguments = QUESTION.arguments(parser)
    print(machine(), flush=True)
    count = 60 if arguments.quick else None
    folder = data_folder(arguments.data)
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    bench = Relations({part: read_part(folder, part, count) for part in PARTS}, folder, out, arguments)
    for part in arguments.part or GROUPS:
        getattr(bench, part)()


@dataclass(frozen=True)
class Chosen:
    """Settings chosen on the development part; the defaults are those of the package."""

    C: float = 0.1
    entity_loss: float = 2.0
    missed_relation_loss: float = 1.5


class Relations:
    """The parts of this benchmark."""

    def __init__(self, parts: dict[str, Sentences], folder: Path, out: Path, arguments: Any) -> None:
        self._parts, self._folder, self._out, self._arguments = parts, folder, out, arguments
        stored = out / "settings.json"
        self.chosen = Chosen(**json.loads(stored.read_text())) if stored.exists() else Chosen()

    def _extractor(self, training: Sentences, **options: Any) -> tuple[RelationExtractor, Clocks]:
        settings = {**asdict(self.chosen), **options}
        extractor, clocks = RelationExtractor("dcd-ssvm", invalid_gold="repair", **settings), Clocks()
        with clocks.running():
            extractor.fit(training)
        return extractor, clocks

    def settings(self) -> None:
        """Choose settings on the development part and in folds without the test part."""
        rows, means = [], {}
        losses = itertools.product(CHOICES_OF_ENTITY, CHOICES_OF_MISSED)
        for chosen in itertools.chain(
            (Chosen(Chosen.C, *pair) for pair in losses),
            (replace(max(means, key=means.__getitem__), C=C) for C in CHOICES_OF_C if C != Chosen.C),
        ):
            extractor, _ = self._extractor(self._parts["train"], **asdict(chosen))
            dev, crossed = extractor.evaluate(self._parts["dev"]), self._crossed(("train", "dev"), **asdict(chosen))[-1]
            means[chosen] = float(
                np.mean([one[name] for one in (dev, crossed) for name in ("entity_f1", "relation_f1")])
            )
            numbers = (
                dev["entity_f1"],
                dev["relation_f1"],
                crossed["entity_f1"],
                crossed["relation_f1"],
                means[chosen],
            )
            rows.append([*(f"{value:g}" for value in astuple(chosen)), *(number(value, "{:.4f}") for value in numbers)])
        self.chosen = max(means, key=means.__getitem__)
        (self._out / "settings.json").write_text(json.dumps(asdict(self.chosen)))
        header = ["C", "entity loss", "missed relation loss", "dev entity_f1", "dev relation_f1", "folds entity_f1",
                  "folds relation_f1", "mean"]  # fmt: skip
        print_table("settings, gold spans", header, rows)
        print(f"chosen: {self.chosen}")

    def _crossed(self, parts: Sequence[str], **options: Any) -> list[dict[str, float]]:
        """Return the scores of five folds over the sentences of some parts, and their means."""
        found = []
        for training, test in folds([one for part in parts for one in self._parts[part]]):
            extractor, _ = self._extractor(training, **options)
            found.append(extractor.evaluate(test))
        return [*found, {name: float(np.mean([one[name] for one in found])) for name in SCORES}]

    def test(self) -> None:
        """Score on the test part, with gold spans and with those of a tagger."""
        train_part, both = self._parts["train"], self._parts["train"] + self._parts["dev"]
        rows = []
        for name, training in (("train", train_part), ("train and dev", both)):
            extractor, clocks = self._extractor(training)
            rows.append([name, "gold", *_scores(extractor.evaluate(self._parts["test"])), number(clocks.cpu)])
        tagger = SequenceTagger(
            "dcd-ssvm", features="ner", columns=("form", "upos"), pos_column="upos", constraints="bio", C=0.1
        )
        tagger.fit(*as_bio(both))
        found = extractor.evaluate(self._parts["test"], spans=tagger)
        rows.append(["train and dev", "of a tagger", *_scores(found), "-"])
        print_table(f"test, {self.chosen}", ["trained on", "spans", *SCORES, "CPU s, features included"], rows)

    def folds(self) -> None:
        """Score five folds over the sentences of all parts."""
        *found, mean = self._crossed(PARTS)
        rows = [[str(k + 1), *_scores(one)] for k, one in enumerate(found)]
        print_table("five folds, gold spans", ["fold", *SCORES], [*rows, ["mean", *_scores(mean)]])

    def constraints(self) -> None:
        """Compare joint and independent training and prediction, with settings chosen for each on dev."""
        rows = []
        for value in ("both", "predict", "none"):
            tried = {}
            for missed in CHOICES_OF_MISSED:
                options = {"type_constraints": value, "missed_relation_loss": missed}
                extractor, _ = self._extractor(self._parts["train"], **options)
                scores = extractor.evaluate(self._parts["dev"])
                tried[missed] = (scores["entity_f1"] + scores["relation_f1"], scores, extractor)
            missed = max(tried, key=lambda one: tried[one][0])
            _, dev, extractor = tried[missed]
            rows.append([value, f"{missed:g}", "dev", *_scores(dev)])
            rows.append([value, f"{missed:g}", "test", *_scores(extractor.evaluate(self._parts["test"]))])
        print_table("--type-constraints, trained on train", ["value", "missed", "scored on", *SCORES], rows)

    def solvers(self) -> None:
        """Search every training sentence with both solvers."""
        train_part = self._parts["train"]
        encoded = encode(train_part, self._parts["dev"], ["native", "ilp"])
        native = encoded.tasks["native"]
        result = train(native, algorithm="dcd-ssvm", C=self.chosen.C)
        for name, weights in (("0", np.zeros(native.core.dimension)), ("at the end", result.weights)):
            _solver_table(encoded, name, weights)
        report = native.search_report()
        print(f"in training: {report['searches']:,} searches, at most {report['most_nodes']:,} nodes in one, "
              f"{report['cut_off']} cut off")  # fmt: skip

    def _all(self, count: int | None = None) -> tuple[Sentences, Sentences]:
        whole = read_part(self._folder, "all_sentences", 300 if self._arguments.quick else None)
        training, test = eighty_twenty(whole)
        return training[:count], test

    def all(self) -> None:
        """Train on 80 % of all sentences to the paper's settings."""
        encoded = encode(*self._all(), ["native"])
        task, clocks = encoded.tasks["native"], Clocks()
        with clocks.running():
            result = train(task, algorithm="dcd-ssvm", C=PAPER_C, tol=PAPER_GAP, n_threads=1)
        proof, scores = result.certificate, encoded.scores(result.weights)
        assert proof is not None
        rows = [[
            f"{len(encoded.spans):,}", str(result.iterations), f"{100 * proof.gap:.2f} %", str(proof.exact),
            *(number(value) for value in (clocks.cpu, clocks.wall, result.seconds["certify"])),
            *_scores(scores),
        ]]  # fmt: skip
        header = ["sentences", "passes", "gap", "exact", "CPU s", "wall s", "certificate s", *SCORES]
        print_table(f"80 % of all sentences, C = {PAPER_C}, dcd-ssvm, one thread", header, rows)

    def threads(self) -> None:
        """Race the engines with both solvers, and compute what more threads would take."""
        drawn: dict[str, list[Run]] = {}
        for solver, count in (("native", None), ("ilp", FEW)):
            training, test = self._all(count)
            calls = Calls()
            with calls.recording():
                encoded = encode(training, test, list(dict.fromkeys(["native", solver])))
                runs = race(encoded, solver, self._arguments.threads, self._arguments.budget, calls)
            _race_tables(solver, runs)
            _computed_table(solver, runs)
            stored = {run.name: run.rows for run in runs}
            (self._out / f"runs-{solver}.json").write_text(json.dumps(stored))
            drawn[solver] = runs
        for path in _draw(drawn, self._out):
            print(f"drawn: {path}")


def _scores(found: Mapping[str, float]) -> list[str]:
    return [number(found.get(name), "{:.4f}") for name in SCORES]


def _solver_table(encoded: Encoded, name: str, weights: Any) -> None:
    """Print seconds, nodes and agreement by the number of entities, with loss-augmented searches."""
    found = {
        solver: [task.core.solve(i, weights, 1.0) for i in range(len(encoded.spans))]
        for solver, task in encoded.tasks.items()
    }
    assert all(one.complete for searches in found.values() for one in searches)
    worst = max(abs(one.score - other.score) for one, other in zip(found["native"], found["ilp"], strict=True))
    seconds = {solver: np.array([one.seconds for one in searches]) for solver, searches in found.items()}
    nodes, counts = np.array([one.nodes for one in found["native"]]), np.array(encoded.spans)
    rows = []
    for label, chosen in [("all", counts >= 0), *((str(n), counts == n) for n in sorted(set(encoded.spans)))]:
        native, program = seconds["native"][chosen], seconds["ilp"][chosen]
        rows.append(
            [
                *(label, str(int(chosen.sum()))),
                *(f"{1e6 * value:,.1f}" for value in _spread(native)),
                *(f"{1e3 * value:,.2f}" for value in _spread(program)),
                *(f"{program.mean() / native.mean():,.0f}", str(nodes[chosen].max())),
            ]
        )
    columns = ["mean", "99 %", "worst"]
    header = [
        "entities",
        "sentences",
        *(f"native us, {one}" for one in columns),
        *(f"ilp ms, {one}" for one in columns),
    ]
    title = f"weights {name}: solver alone, with loss; largest difference of objectives {worst:.1e}"
    print_table(title, [*header, "ilp / native", "most nodes"], rows)


def _spread(seconds: Any) -> tuple[float, float, float]:
    return float(seconds.mean()), float(np.quantile(seconds, 0.99)), float(seconds.max())


def _race_tables(solver: str, runs: Sequence[Run]) -> None:
    lowest = min(row["primal"] for run in runs for row in run.rows if run.algorithm != "ipm")
    best = {name: max(row[name] for run in runs for row in run.rows) for name in ("entity_f1", "relation_f1")}

    def seconds_to(run: Run, reached: Callable[[Any], bool]) -> str:
        return number(next((row["seconds"] for row in run.rows if reached(row)), None))

    rows = []
    for run in runs:
        last = run.rows[-1]
        to = [
            *(seconds_to(run, lambda row, share=share: row["primal"] <= lowest * (1 + share)) for share in (0.1, 0.01)),
            *(seconds_to(run, lambda row, name=name: row[name] >= best[name] - 0.02) for name in best),
        ]
        above = "-" if run.algorithm == "ipm" else percent(last["primal"] / lowest - 1, "{:.2f} %")
        rows.append([
            run.algorithm, str(run.threads), str(len(run.rows)), number(last["seconds"]), above, *to,
            number(last["entity_f1"], "{:.4f}"), number(last["relation_f1"], "{:.4f}"), percent(run.busy),
            f"{last['inferences'] / last['seconds']:,.0f}", f"{last['updates']:,}",
        ])  # fmt: skip
    header = ["algorithm", "threads", "passes", "s", "primal above lowest", "s to 10 %", "s to 1 %", "s to entity F1",
              "s to relation F1", "entity F1", "relation F1", "busy", "inferences/s", "updates"]  # fmt: skip
    print_table(f"{solver}: engines, C = {PAPER_C}; s to F1: within 0.02 of the best of all", header, rows)


def _computed_table(solver: str, runs: Sequence[Run]) -> None:
    """Compare what two threads would do, computed from seconds of searches and updates, with the measurement."""
    rows = [
        [
            one.algorithm, str(one.passes), number(one.one, "{:,.0f}"), number(one.two, "{:,.0f}"),
            number(one.two / one.one), *(number(one.rates[count], "{:,.0f}") for count in COMPUTED),
            percent(one.off),
        ]
        for one in computed(runs, COMPUTED)
    ]  # fmt: skip
    header = ["algorithm", "passes", "1 thread", "2 threads", "ratio", *(f"{count}, computed" for count in COMPUTED),
              "computed for 2 off by"]  # fmt: skip
    print_table(f"{solver}: inferences a second, of the same passes", header, rows)


def _draw(drawn: Mapping[str, Sequence[Run]], folder: Path) -> list[Path]:
    figures: dict[str, Callable[[Any, Sequence[Run]], None]] = {
        "figure1-primal": lambda axes, runs: _paint_primal(axes, [run for run in runs if run.algorithm != "ipm"]),
        "figure2-entities": lambda axes, runs: _paint(axes, runs, "entity_f1"),
        "figure2-relations": lambda axes, runs: _paint(axes, runs, "relation_f1"),
        "figure3-usage": _paint_usage,
        "figure4-threads": lambda axes, runs: _paint_primal(
            axes, [run for run in runs if run.algorithm in ("dcd-ssvm", "demi-dcd", "shared-dcd")]
        ),
    }
    return [path for name, paint in figures.items() for path in one_each(drawn, folder / name, paint)]


def _paint_primal(axes: Any, runs: Sequence[Run]) -> None:
    lowest = min(row["primal"] for run in runs for row in run.rows)
    for run in runs:
        line(
            axes, [(row["seconds"], row["primal"] / lowest - 1) for row in run.rows if row["primal"] > lowest], run.name
        )
    logarithmic(axes, y=True)
    axes.set(xlabel="training seconds", ylabel="primal / lowest primal - 1")


def _paint(axes: Any, runs: Sequence[Run], score: str) -> None:
    for run in runs:
        line(axes, [(row["seconds"], row[score]) for row in run.rows], run.name)
    logarithmic(axes)
    axes.set(xlabel="training seconds", ylabel=f"test {score}")


def _paint_usage(axes: Any, runs: Sequence[Run]) -> None:
    for run in runs:
        seconds = np.diff(np.array([0.0, *(row["seconds"] for row in run.rows)]))
        waiting = np.array([row["waiting"] for row in run.rows])
        usage = 100 * (run.threads - waiting / np.maximum(seconds, 1e-9))
        line(axes, zip(np.cumsum(seconds).tolist(), usage.tolist(), strict=True), run.name)
    axes.set(xlabel="training seconds", ylabel="threads at work, %", ylim=(0, None))


if __name__ == "__main__":
    main()
