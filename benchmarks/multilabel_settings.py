"""Choose the settings of ml_tmc2007_500 with the paper's C on a part of its training examples, and test the best one.

`dcd-ssvm` to a gap of 2 % with each of 36 settings, scored on the last tenth of the training part; then the best of
them on all of it, scored on the test part. The data set ml_tmc2007_500-chosen has what was found.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.benchmark import Benchmark
from harness.command import Question
from harness.data_sets import QUICK_EXAMPLES
from harness.figures import ending
from harness.label_sets import CHOICES, TMC, held_out, label_problem, read_labels
from harness.problem import Problem
from harness.runs import Planned, Record
from harness.tables import percent, print_table

CHOICE, TEST = "choice", "test"
QUESTION = Question("multilabel_settings", __doc__, (TMC,), budget=(60.0, 0.15), clock=True)


def main() -> None:
    benchmark = Benchmark(QUESTION)
    data = read_labels(benchmark.data, TMC, QUICK_EXAMPLES if benchmark.arguments.quick else None)
    part = held_out(data)
    for settings in CHOICES:
        benchmark.run([_plan(label_problem(TMC, part, settings), CHOICE)])
    judged = [record for record in benchmark.records(TMC, CHOICE) if record.rows]
    judged.sort(key=lambda record: -record.rows[-1]["score"])
    choice_table(judged)
    if judged and not benchmark.left:
        best = next(settings for settings in CHOICES if str(settings) == judged[0].settings.setting)
        benchmark.run([_plan(label_problem(TMC, data, best), TEST)])
        for record in benchmark.records(TMC, TEST):
            if record.rows and record.settings.setting == str(best):
                print(f"\nThe best one on all of the training part: test micro F1 {record.rows[-1]['score']:.4f}")
    benchmark.end()


def _plan(problem: Problem, group: str) -> Planned:
    """Plan the run by which a setting is judged."""
    name = str(problem.setting)
    return Planned.of(problem, name, "dcd-ssvm", group=group, loss="hinge", tol=0.02, max_iter=1_000)


def choice_table(judged: Sequence[Record]) -> None:
    """Print the score of every setting on the held-out examples, best first."""
    rows = [
        [
            record.settings.name,
            f"{record.rows[-1]['score']:.4f}",
            percent(record.certified_gap, "{:.2g} %"),
            ending([record]),
        ]
        for record in judged
    ]
    title = f"{TMC}: settings by micro F1 on the last tenth of the training part"
    print_table(title, ["setting", "held-out micro F1", "gap", "end"], rows)


if __name__ == "__main__":
    main()
