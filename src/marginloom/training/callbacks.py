"""What can be done between the iterations of a run: show it, stop it, or anything of the user's own."""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, cast

from marginloom.common.parameters import checked
from marginloom.core.row import Row
from marginloom.errors import InputError
from marginloom.training.interrupts import signals_held_back
from marginloom.training.progress_columns import progress_columns
from marginloom.training.state import State

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from marginloom.training.run import Run


def main_metric(scores: Mapping[str, Any]) -> str:
    """Return the name of the score that counts most: ``f1`` where there is one, else the first; empty without scores.

    Examples
    --------
    >>> main_metric({"accuracy": 0.9, "f1": 0.8}), main_metric({"uas": 0.9, "las": 0.8})
    ('f1', 'uas')
    """
    return "f1" if "f1" in scores else next(iter(scores), "")


class Callback:
    """Base of callbacks; override what is needed.

    Examples
    --------
    >>> class Print(Callback):
    ...     def after_iteration(self, run, row):
    ...         print(row["iteration"], row["training_loss"])
    """

    #: What a run that this callback stopped reports as its reason.
    stop_reason = "callback"
    #: Whether it tells what ``auto`` has chosen; if none does, a choice that needs it is a warning.
    tells_choice = False

    def before_training(self, run: Run) -> None:
        """Do something before the first iteration."""

    def before_iteration(self, run: Run) -> None:
        """Do something before every iteration."""

    def after_iteration(self, run: Run, row: Row) -> bool | None:
        """Do something with the row of an iteration; return True to stop training."""

    def during_certificate(self, run: Run, done: int, total: int) -> None:
        """Do something while every example is searched for a certificate: several times a second, if it takes so long.

        Of `total` examples so many are `done`. The last certificate is made after `after_training`.
        """

    def after_certificate(self, run: Run) -> None:
        """Do something when the searches for a certificate have ended, also when they were interrupted or failed."""

    def after_training(self, run: Run) -> None:
        """Do something when the passes have ended, also when they were interrupted or failed."""

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must keep of this callback: by name, JSON values and `State`s; nothing by default.

        Called after `before_training` and after every pass.
        """
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned; called between `before_training` and the first pass of a resumed run."""


class EarlyStopping(Callback):
    """Stop when the score on an evaluation set has not risen for some iterations.

    Parameters
    ----------
    patience : int
        Iterations without a better score after which training stops.
    evaluation_set : str
        Which evaluation set to watch.
    metric : str, optional
        Which score; by default ``f1`` where there is one and the first otherwise, such as ``accuracy``.
    min_delta : float
        By how much a score must be higher to count as better.
    restore_best : bool
        Return to the state of the best iteration at the end.

    Examples
    --------
    >>> EarlyStopping(patience=5).patience
    5
    """

    stop_reason = "early"
    _watched = ("evaluation_set", "metric", "min_delta", "restore_best")

    def __init__(
        self,
        patience: int = 3,
        *,
        evaluation_set: str = "dev",
        metric: str | None = None,
        min_delta: float = 0.0,
        restore_best: bool = True,
    ) -> None:
        self.patience: int = checked("patience", patience, "positive count")
        self.evaluation_set = evaluation_set
        self.metric = metric
        self.min_delta = min_delta
        self.restore_best: bool = checked("restore_best", restore_best, "switch")

    def before_training(self, run: Run) -> None:
        """Forget earlier runs and check that there is something to watch."""
        if self.evaluation_set not in run.evaluation_sets:
            raise InputError(
                f"early stopping watches the evaluation set {self.evaluation_set!r}, and there is none; give one "
                "with eval_set (in Python) or --dev (on the command line)"
            )
        self._best = -math.inf
        self._best_iteration = 0
        self._best_state: State | None = None

    def after_iteration(self, run: Run, row: Row) -> bool:
        """Compare the score with the best one so far."""
        score = self._score(row["scores"][self.evaluation_set])
        if score > self._best + self.min_delta:
            self._best = score
            self._best_iteration = row["iteration"]
            self._best_state = run.state() if self.restore_best else None
        return bool(row["iteration"] - self._best_iteration >= self.patience)

    def after_training(self, run: Run) -> None:
        """Return to the best state, if a later one was reached."""
        if self._best_state is not None and self._best_iteration < run.iteration:
            run.restore(self._best_state)
        self._best_state = None

    def state(self) -> dict[str, Any]:
        """Return the best score and the state that had it, with what they depend on."""
        return {
            **{name: getattr(self, name) for name in self._watched},
            "best": self._best,
            "best_iteration": self._best_iteration,
            "best_state": self._best_state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the best score so far; the patience may be another one."""
        for name in self._watched:
            if state[name] != getattr(self, name):
                raise InputError(
                    f"the checkpoint is of a run whose early stopping had {name} = {state[name]!r}, and now it is "
                    f"{getattr(self, name)!r}; resume with the same"
                )
        best, iteration, best_state = state["best"], state["best_iteration"], state["best_state"]
        if not isinstance(best, float) or type(iteration) is not int or not isinstance(best_state, (State, type(None))):
            raise InputError("the checkpoint does not hold the best score, its pass and its state of early stopping")
        self._best, self._best_iteration, self._best_state = best, iteration, best_state

    def _score(self, scores: dict[str, Any]) -> float:
        metric = self.metric or main_metric(scores)
        if not isinstance(scores.get(metric), float):
            raise InputError(f"there is no score {metric!r}; there are: {', '.join(scores)}")
        return float(scores[metric])


class _Forgiving:
    """A stream to show progress on, which ends no run: its terminal may be closed, or its disk be full."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class ChoiceLine(Callback):
    """Tell in a line what ``auto`` has chosen and why, and again when the run turns to another algorithm.

    Parameters
    ----------
    say : callable, optional
        What is called with the line; by default it goes to standard error.

    Examples
    --------
    >>> line = ChoiceLine(print)
    """

    tells_choice = True

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._say = say or (lambda line: print(line, file=cast(IO[str], _Forgiving(sys.stderr)), flush=True))

    def before_training(self, run: Run) -> None:
        """Tell what was chosen."""
        self._told: str | None = None
        self.before_iteration(run)

    def before_iteration(self, run: Run) -> None:
        """Tell it again if it has changed."""
        if run.choice_line is not None and run.choice_line != self._told:
            self._say(run.choice_line)
            self._told = run.choice_line


class ProgressBar(Callback):
    """Show what ``auto`` has chosen, progress, the gap and an estimate of the time left on standard error.

    On a terminal this is a bar, and a second one while a certificate is made; elsewhere it is a line every few seconds.

    Parameters
    ----------
    choice : bool
        Whether to show what ``auto`` has chosen.

    Examples
    --------
    >>> bar = ProgressBar()
    """

    seconds_between_lines = 2.0

    def __init__(self, *, choice: bool = True) -> None:
        self._choice = ChoiceLine() if choice else Callback()
        self.tells_choice = choice
        with signals_held_back(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Before training begins, and whole: an interruption would break it. A spinner imports more when it is made.
            from rich.progress import SpinnerColumn

            SpinnerColumn()

    def before_iteration(self, run: Run) -> None:
        """Tell if the algorithm has changed."""
        self._choice.before_iteration(run)

    def before_training(self, run: Run) -> None:
        """Start the bar."""
        self._choice.before_training(run)
        from rich.console import Console

        self._first_gap: float | None = None
        for row in run.trace.rows[:1]:  # of a resumed run
            self._fraction(run, row)
        self._next_line = time.monotonic() + self.seconds_between_lines
        self._console = Console(file=cast(IO[str], _Forgiving(sys.stderr)))
        self._certificate: tuple[Progress, TaskID] | None = None
        self._certificate_start: float | None = None
        self._bar: tuple[Progress, TaskID] | None = None
        self._bar = self._started("training", 1.0)

    def after_iteration(self, run: Run, row: Row) -> None:
        """Move the bar."""
        text = f"pass {row['iteration']}"
        if row["gap"] is not None:
            text += f"  gap {100 * row['gap']:.2f} %"
        else:
            text += f"  training loss {row['training_loss']:.4g}"
        for name, scores in row["scores"].items():
            metric = main_metric(scores)
            text += f"  {name} {metric} {scores[metric]:.4f}" if metric in scores else ""
        if "world" in row:
            text += f"  {row['world']['parts']} processes"
        fraction = self._fraction(run, row)
        assert self._bar is not None
        bar, task = self._bar
        bar.update(task, completed=fraction, description=text)
        self._say(text, row["seconds"], row["seconds"] * (1 / fraction - 1))

    def during_certificate(self, run: Run, done: int, total: int) -> None:
        """Show how many examples have been searched."""
        now = time.monotonic()
        if self._certificate_start is None:
            self._certificate_start = now
            self._next_line = now + self.seconds_between_lines
        text = f"certificate  {done:,} of {total:,} examples"
        if self._certificate is None:
            self._certificate = self._started(text, total)
        bar, task = self._certificate
        bar.update(task, completed=done, description=text)
        elapsed = now - self._certificate_start
        self._say(text, elapsed, elapsed * (total / done - 1) if done else None)

    def after_certificate(self, run: Run) -> None:
        """Remove what was shown of the certificate."""
        self._certificate_start = None
        if self._certificate is not None:
            self._remove(*self._certificate)
            self._certificate = None

    def after_training(self, run: Run) -> None:
        """Remove the bar."""
        assert self._bar is not None
        self._remove(*self._bar)
        self._bar = None

    def _started(self, text: str, total: float) -> tuple[Progress, TaskID]:
        """Return a new bar, below the one that is there; two that do not know each other cannot be shown at once."""
        from rich.progress import Progress

        if self._bar is not None:
            return self._bar[0], self._bar[0].add_task(text, total=total)
        hidden = not self._console.is_terminal
        bar = Progress(*progress_columns(), console=self._console, transient=True, disable=hidden, expand=True)
        task = bar.add_task(text, total=total)
        bar.start()
        return bar, task

    def _remove(self, bar: Progress, task: TaskID) -> None:
        bar.remove_task(task)
        if not bar.task_ids:
            bar.stop()

    def _say(self, text: str, elapsed: float, remaining: float | None) -> None:
        """Print a line where there is no terminal, if it is time for one."""
        if self._console.is_terminal or time.monotonic() < self._next_line:
            return
        self._next_line = time.monotonic() + self.seconds_between_lines
        rest = "" if remaining is None else f", about {remaining:.0f} s remaining"
        print(f"{text}  {elapsed:.1f} s elapsed{rest}", file=cast(IO[str], _Forgiving(sys.stderr)), flush=True)

    def _fraction(self, run: Run, row: Row) -> float:
        """By passes, or by how far the gap has come on a logarithmic scale, whichever is further."""
        by_passes = float(row["iteration"] / run.max_iter)
        gap = row["gap"]
        if gap is None or gap <= 0:
            return by_passes
        if self._first_gap is None:
            self._first_gap = max(gap, 2 * run.tol)
        by_gap = math.log(self._first_gap / gap) / math.log(self._first_gap / run.tol)
        return min(max(by_passes, by_gap), 1.0)
