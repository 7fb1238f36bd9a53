"""Compare how far each learner is after which time: test score, objective and gap, pass by pass.

As in section 4 of dcd-ssvm-2013: every learner gets one thread, the same features, the same C, which dcd-ssvm chooses
on a development part, and 25 passes unless its budget of training seconds ends first. Pictures are after Figures 1 to
3 of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.figures import final_score, first_within, row_at, seconds_a_pass
from harness.pictures import finish, line, logarithmic, panels, save, zoom
from harness.problem import Problem
from harness.runs import COARSE_GAP, Planned, Record
from harness.tables import number, print_table

SETS = ("conll2003_en", "conll2002_es", "conll2000-tagging", "ocr_letters")
SQUARED_HINGE = ("dcd-ssvm", "dcd-light", "cpd")
DUAL = (*SQUARED_HINGE, "n-slack", "one-slack", "bcfw", "fsmo")
ONLINE = ("averaged-perceptron", "mira", "kbest-mira", "passive-aggressive", "sgd")
LEARNERS = (*DUAL, *ONLINE)
SHOWN_EARLY = ("dcd-ssvm", "one-slack", "bcfw", "averaged-perceptron", "mira", "sgd")
CHOICES_OF_C = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
CHOICE = "choice of C"
#: No gap ends a run, but for the choice of C.
PASSES, TOLERANCE, CHOICE_PASSES = 25, 1e-6, 400
#: Of dcd-ssvm, whose times are those at which primals are compared.
EQUAL_PASSES = (1, 2, 3, 5, 10, 15, 25)
PICTURES = {
    "figure2-cutting-planes-and-frank-wolfe": ("dcd-ssvm", "one-slack", "bcfw"),
    "figure3-online": ("dcd-ssvm", "averaged-perceptron", "mira", "sgd"),
}
QUESTION = Question("learners", __doc__, SETS, budget=(120.0, 2.5), clock=True)
Runs = Mapping[str, Mapping[str, Record]]


def main() -> None:
    benchmark = Benchmark(QUESTION)
    for name in benchmark.sets:
        problem = benchmark.problem(name)
        benchmark.run(_choice(problem))
        chosen = best_cost(benchmark.records(name, CHOICE))
        if chosen is not None:
            benchmark.run(_comparison(problem, chosen))
    choices, runs = benchmark.of_all_sets(CHOICE), benchmark.of_all_sets()
    choice_table(choices)
    score_table(runs, benchmark.score_names)
    seconds_table(runs, benchmark.clock)
    early_table(runs)
    gap_table(runs, benchmark.clock)
    for name, found in runs.items():
        equal_time_table(name, found, benchmark.clock)
    benchmark.end(draw(runs, benchmark.score_names, benchmark.clock, benchmark.folder))


def _choice(problem: Problem) -> list[Planned]:
    """Plan dcd-ssvm with every C to a gap at which scores settle: a large C would look bad after a few passes."""
    assert problem.development is not None
    development = problem.development()
    return [
        Planned.of(development, f"C = {C:g}", "dcd-ssvm", C=C, group=CHOICE, max_iter=CHOICE_PASSES, tol=COARSE_GAP)
        for C in CHOICES_OF_C
    ]


def best_cost(runs: Sequence[Record]) -> float | None:
    """Return the C whose last pass scored highest, the smallest one of equals; None if not all were tried."""
    scores = {record.settings.C: record.rows[-1]["score"] for record in runs if record.rows}
    return max(sorted(scores), key=lambda C: scores[C]) if len(scores) == len(CHOICES_OF_C) else None


def _comparison(problem: Problem, C: float) -> list[Planned]:
    """Plan every learner; n-slack only where the data are small."""
    return [
        Planned.of(problem, name, name, C=C, max_iter=PASSES, tol=TOLERANCE)
        for name in LEARNERS
        if name != "n-slack" or problem.name == "ocr_letters"
    ]


def _table(title: str, runs: Runs, names: Sequence[str], cell: Callable[[Record], str]) -> None:
    """Print a table with a row a data set and a column a learner."""

    def shown(record: Record | None) -> str:
        return "-" if record is None else cell(record) if record.rows else "no pass"

    rows = [[data, *(shown(found.get(name)) for name in names)] for data, found in runs.items()]
    print_table(title, ["data set", *names], rows)


def choice_table(choices: Runs) -> None:
    best = {name: best_cost(list(found.values())) for name, found in choices.items()}

    def cell(record: Record) -> str:
        score = number(final_score(record), "{:.4f}")
        return f"**{score}**" if best[record.settings.data] == record.settings.C else score

    columns = [f"C = {C:g}" for C in CHOICES_OF_C]
    _table("choice of C: score of dcd-ssvm on the development part", choices, columns, cell)


def score_table(runs: Runs, scores: Mapping[str, str]) -> None:
    """Print what Table 1 of dcd-ssvm-2013 shows, and the passes of runs that were cut short."""

    def cell(record: Record) -> str:
        return number(final_score(record), "{:.4f}") + (f" ({len(record.rows)})" if record.cut_short else "")

    named = {f"{data}, {scores[data]}": found for data, found in runs.items()}
    _table("test score after the last pass; in brackets the passes of a run cut short", named, LEARNERS, cell)


def early_table(runs: Runs) -> None:
    """Print how the test score moved, for what is said of early stopping."""

    def cell(record: Record) -> str:
        seen = [row["score"] for row in record.rows[1:10]]
        return f"{min(seen):.4f} to {max(seen):.4f}" if seen else "-"

    _table("lowest and highest test score from pass 2 to pass 10", runs, SHOWN_EARLY, cell)


def seconds_table(runs: Runs, clock: str) -> None:
    title = f"training seconds a pass ({clock} clock)"
    _table(title, runs, LEARNERS, lambda record: number(seconds_a_pass(record, clock), "{:.3g}"))


def gap_table(runs: Runs, clock: str) -> None:
    """Print when dual learners were within 1 %, and where they ended."""

    def cell(record: Record) -> str:
        last = record.rows[-1]
        final = f"{100 * last['gap']:.2f} % after {last['pass']}"
        reached = first_within(record, COARSE_GAP)
        return f"{reached[clock]:.2f} s, {reached['pass']} passes; {final}" if reached else f"not reached; {final}"

    _table(f"{clock} seconds and passes to a gap of 1 %, and the gap after the last pass", runs, DUAL, cell)


def equal_time_table(data: str, runs: Mapping[str, Record], clock: str) -> None:
    """Print the primal of the squared-hinge methods at the times at which dcd-ssvm had ended some passes."""
    names = [name for name in SQUARED_HINGE if name in runs]
    leader = runs["dcd-ssvm"].rows if len(names) > 1 and "dcd-ssvm" in runs else []
    rows = [
        [
            f"{row[clock]:.2f} (dcd-ssvm pass {row['pass']})",
            *(_primal_at(runs[name], row[clock], clock) for name in names),
        ]
        for row in (leader[count - 1] for count in EQUAL_PASSES if count <= len(leader))
    ]
    title = f"{data}: primal of the squared-hinge methods at equal training seconds ({clock} clock)"
    print_table(title, ["seconds", *names], rows)


def _primal_at(record: Record, seconds: float, clock: str) -> str:
    """Show the primal at a time, but nothing of a run that was over by then: it would have gone on improving."""
    row = row_at(record, seconds, clock)
    if row is None:
        return "-"
    last = record.seconds(clock)
    if seconds > last + last / len(record.rows):
        return f"over at {last:.2f} s"
    return f"{row['primal']:.1f} (pass {row['pass']})"


def draw(runs: Runs, scores: Mapping[str, str], clock: str, folder: Path) -> list[Path]:
    """Draw all pictures."""
    if not runs:
        return []
    paths = _squared_hinge(runs, scores, clock, folder)
    for name, learners in PICTURES.items():
        figure, (row,) = panels(len(runs))
        for axes, (data, found) in zip(row, runs.items(), strict=True):
            _scores(axes, found, learners, clock)
            axes.set(title=data, xlabel=f"training seconds ({clock})", ylabel=f"test {scores[data]}")
        paths += save(figure, folder / name)
    return paths


def _squared_hinge(runs: Runs, scores: Mapping[str, str], clock: str, folder: Path) -> list[Path]:
    figure, (tops, bottoms) = panels(len(runs), 2)
    for top, bottom, (data, found) in zip(tops, bottoms, runs.items(), strict=True):
        _scores(top, found, SQUARED_HINGE, clock)
        top.set(title=data, ylabel=f"test {scores[data]}")
        present = [found[name] for name in SQUARED_HINGE if name in found]
        optimum = max((row["dual"] for record in present for row in record.rows), default=1.0)
        for record in present:
            points = [(row[clock], row["primal"] / optimum - 1) for row in record.rows]
            line(bottom, points, record.settings.name)
        logarithmic(bottom, y=True)
        bottom.set(xlabel=f"training seconds ({clock})", ylabel="primal / greatest dual - 1")
        finish(bottom)
    return save(figure, folder / "figure1-squared-hinge")


def _scores(axes: Any, runs: Mapping[str, Record], learners: Sequence[str], clock: str) -> None:
    """Draw a line a learner with a marker a pass."""
    shown: list[float] = []
    for name in learners:
        rows = runs[name].rows if name in runs else []
        line(axes, [(row[clock], row["score"]) for row in rows], name)
        shown += [row["score"] for row in rows[2:]]
    logarithmic(axes)
    zoom(axes, shown)
    finish(axes)


if __name__ == "__main__":
    main()
