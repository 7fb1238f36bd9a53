"""Checkpoints: everything that the rest of a run depends on, in a file from which a killed run goes on."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marginloom.algorithms import ALGORITHMS, earlier_values, engines_of
from marginloom.common.parameters import checked
from marginloom.core.choice import Choice
from marginloom.core.row import Row
from marginloom.engines.base import Engine
from marginloom.errors import InputError, OutputError, OutputWarning
from marginloom.io.files import StrPath, cannot_write, check_writable_target, temporary_prefix
from marginloom.io.lock import FolderLock
from marginloom.io.model import CHECKPOINT, MISFITS, Tensors, json_text, load_model, misfit, parse_json, save_model
from marginloom.io.names import shown
from marginloom.training.earlier import present_settings
from marginloom.training.state import State

if TYPE_CHECKING:
    from marginloom.core.task import Task
    from marginloom.training.callbacks import Callback
    from marginloom.training.plan import Plan
    from marginloom.training.run import Run
    from marginloom.training.spec import Evaluation

FILE_NAME = "checkpoint.safetensors"
LOCK_NAME = "checkpoint.lock"


@dataclasses.dataclass(frozen=True)
class Identity:
    """What must be the same for a run to go on from a checkpoint.

    Attributes
    ----------
    settings : dict
        Name and value of every setting that changes what later passes do.
    fingerprints : dict
        The same for what is too large to show: the name of it, and a hash.
    """

    settings: dict[str, Any]
    fingerprints: dict[str, Any]

    @classmethod
    def of_run(
        cls,
        task: Task,
        settings: Mapping[str, Any],
        instance_weights: NDArray[np.float64],
        evaluations: Mapping[str, Evaluation],
    ) -> Identity:
        """Collect what a checkpoint must agree in; what it may differ in and what follows from the rest is left out."""
        fingerprints = {
            **task.fingerprints,
            "sample_weight": hashlib.sha256(instance_weights.tobytes()).hexdigest(),
            "evaluation sets": {name: getattr(function, "fingerprint", "") for name, function in evaluations.items()},
        }
        named = ("algorithm", "learner", "engine", "loss", "C", "seed")
        return cls({"task": task.name, **{name: settings[name] for name in named}}, fingerprints)

    def check(self, path: Path, stored: Identity) -> None:
        """Raise `InputError`, naming the first difference, unless a stored identity is this one."""
        advice = f"resume with the same settings, or remove {shown(path)} to start from the beginning"
        here, there = dict(flat(self.settings)), dict(flat(stored.settings))
        for name in dict.fromkeys([*here, *there]):
            if here.get(name) != there.get(name):
                raise InputError(
                    f"{shown(path)}: this checkpoint is of a run with {name} = {there.get(name)}, and now it is "
                    f"{here.get(name)}; {advice}"
                )
        # What only one of them has says more than what differs because of it.
        both = self.fingerprints.keys() & stored.fingerprints.keys()
        for name in sorted({**self.fingerprints, **stored.fingerprints}, key=both.__contains__):
            if self.fingerprints.get(name) != stored.fingerprints.get(name):
                raise InputError(f"{shown(path)}: this checkpoint is of a run with other {name}; {advice}")


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested mappings, under all names that lead to them.

    Examples
    --------
    >>> list(flat({"learner": {"name": "dcd"}}))
    [('learner name', 'dcd')]
    """
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name} ")
        else:
            yield prefix + name, value


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A run after a whole pass.

    Attributes
    ----------
    identity : Identity
        Of the run.
    state : State
        Of learner and engine.
    progress : dict
        The run's counters.
    rows : list
        The trace so far.
    callbacks : list of tuple
        Class name and state of every callback that has one.
    choice : Choice or None
        What ``auto`` has chosen, if it was asked, so that the rest of the run does not depend on its threads.
    earlier : dict
        What the engine's parameters stand for that the version of the checkpoint did not have.
    """

    identity: Identity
    state: State
    progress: dict[str, Any]
    rows: list[Row]
    callbacks: list[tuple[str, dict[str, Any]]]
    choice: Choice | None = None
    earlier: dict[str, Any] = dataclasses.field(default_factory=dict)

    def continued(self, plan: Plan, given: str | Mapping[str, Any] | Engine | None) -> Plan:
        """Return the plan with what parameters of the engine stood for when there were none, unless they are given."""
        engine = plan.algorithm.engine
        if not self.earlier or engine.name != self.identity.settings["engine"]["name"] or isinstance(given, Engine):
            return plan  # what does not fit another check says
        named = given.keys() if isinstance(given, Mapping) else ()
        values = {name: value for name, value in self.earlier.items() if name not in named}
        algorithm = dataclasses.replace(plan.algorithm, engine=dataclasses.replace(engine, **values))
        return dataclasses.replace(plan, algorithm=algorithm)

    def save(self, path: Path) -> None:
        """Write the snapshot to a file, complete or not at all."""
        header: dict[str, Any] = {
            "identity": dataclasses.asdict(self.identity),
            "state": self.state.header(),
            "progress": self.progress,
            "choice": None if self.choice is None else self.choice.stored(),
            "callbacks": [],
        }
        # The trace grows without limit, and a header must not.
        tensors = {**self.state.tensors("state."), "trace": np.frombuffer(_as_json(self.rows), dtype=np.uint8)}
        for number, (name, content) in enumerate(self.callbacks):
            stored: dict[str, Any] = {"class": name, "values": {}, "states": {}}
            for key, value in content.items():
                if isinstance(value, State):
                    stored["states"][key] = value.header()
                    tensors |= value.tensors(f"callback.{number}.{key}.")
                else:
                    stored["values"][key] = value
            header["callbacks"].append(stored)
        _as_json(header)  # says clearly what is wrong, if it cannot be done
        save_model(path, CHECKPOINT, header, tensors)

    @classmethod
    def load(cls, path: Path) -> Snapshot:
        """Read what `save` wrote; `ModelFileError` if the file is anything else."""
        header, tensors = load_model(path, CHECKPOINT)
        try:
            return cls._from_parts(header, tensors)
        except MISFITS as error:
            raise misfit(path, "checkpoint", error) from error

    @classmethod
    def _from_parts(cls, header: dict[str, Any], tensors: Tensors) -> Snapshot:
        callbacks = []
        for number, stored in enumerate(header["callbacks"]):
            states = {
                key: State.from_parts(part, tensors, f"callback.{number}.{key}.")
                for key, part in stored["states"].items()
            }
            if not isinstance(stored["class"], str):
                raise ValueError("a callback has no name")
            callbacks.append((stored["class"], {**stored["values"], **states}))
        identity = Identity(**header["identity"])
        identity = dataclasses.replace(identity, settings=present_settings(identity.settings))
        rows = parse_json(tensors["trace"].tobytes())
        progress = dict(header["progress"])
        for name in ("iteration", "inferences", "updates", "active"):
            _check_count(name, progress[name])
        for name in ("seconds", "expected_ratio"):
            checked(name, progress[name], "not negative")
        if not isinstance(rows, list):
            raise ValueError("the trace has no rows")
        for row in rows:
            _check_row(row)
        if len(rows) != progress["iteration"] or any(row["iteration"] != i for i, row in enumerate(rows, start=1)):
            raise ValueError("the trace does not have one row for each pass")
        if not isinstance(identity.settings, dict) or not isinstance(identity.fingerprints, dict):
            raise ValueError("the settings have no names")
        state = State.from_parts(header["state"], tensors, "state.")
        earlier = earlier_values(identity.settings)
        if earlier:
            identity.settings["engine"] = {**identity.settings["engine"], **earlier}
        return cls(identity, state, progress, rows, callbacks, choice_of(header.get("choice")), earlier)


def choice_of(stored: dict[str, Any] | None) -> Choice | None:
    """Return what ``auto`` had chosen; None if it was not asked, or not stored, as in earlier versions."""
    if stored is None:
        return None
    passes = stored.get("newton_passes")
    choice = Choice(
        **{**stored, "newton_passes": math.inf if passes is None else checked("passes", passes, "positive")}
    )
    preset = ALGORITHMS[choice.algorithm]
    if not isinstance(choice.reason, str) or not isinstance(choice.learner, dict):
        raise ValueError("what auto has chosen has no reason or no parameters")
    if choice.engine is not None and choice.engine not in engines_of(preset.learner):
        raise ValueError(f"there is no engine {choice.engine!r} for {choice.algorithm}")
    if choice.max_iter is not None:
        checked("max_iter", choice.max_iter, "positive count")
    return choice


def _check_count(name: str, value: Any) -> None:
    if type(value) is not int or value < 0:
        raise ValueError(f"{name} is not a count")


def _check_row(row: Row) -> None:
    """Raise `ValueError` if what learners and callbacks read of a row of the trace is not there."""
    for name in ("iteration", "wrong"):
        _check_count(name, row[name])
    for name in ("seconds", "training_loss"):
        checked(name, row[name], "not negative")
    for name in ("primal", "dual", "gap"):
        if row[name] is not None and not isinstance(row[name], (int, float)):
            raise ValueError(f"{name} is not a number")
    if not isinstance(row["scores"], dict):
        raise ValueError("the scores have no names")


def _as_json(content: Any) -> bytes:
    try:
        return json_text(content).encode()
    except InputError as error:
        raise InputError(f"a checkpoint holds scores and states of callbacks only as JSON can: {error}") from error


class Checkpoint:
    """Where a run saves what it needs to go on, and how often.

    The file in the folder is replaced as a whole, so that a process that is killed leaves the last complete one. Who
    holds the result of a finished run removes it: `SequenceTagger.fit` when it returns, the command line when the
    model is written. A run locks the folder, so that no other one writes there; see `FolderLock`.

    Parameters
    ----------
    folder : path
        Where the file is; made if only its last part does not exist.
    interval : float
        Seconds between two checkpoints at least; 0 for one after every pass.

    Examples
    --------
    >>> Checkpoint("run-7", interval=600).path.as_posix()
    'run-7/checkpoint.safetensors'
    """

    def __init__(self, folder: StrPath, *, interval: float = 60.0) -> None:
        self.folder = Path(folder)
        self.interval: float = checked("the interval of checkpoints", interval, "not negative")
        #: The pass after which the checkpoint in the folder was made, as far as the run that uses it knows.
        self.iteration: int | None = None
        self._lock = FolderLock(self.folder / LOCK_NAME)

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / FILE_NAME

    @property
    def files(self) -> list[Path]:
        """What nothing else may be written to: the folder, the checkpoint, and what locks the folder."""
        return [self.folder, self.path, self._lock.path]

    def in_use(self) -> AbstractContextManager[None]:
        """Keep other runs out of the folder, for the time of a ``with`` block; `InputError` if one is there."""
        return self._lock.held()

    def exists(self) -> bool:
        """Tell whether there is a run to go on with."""
        return self.path.exists()

    def prepare(self, resume: bool) -> None:
        """Raise `InputError` if checkpoints cannot be written, or if one would be lost; writes nothing."""
        check_writable_target(self.path if self.folder.exists() else self.folder)
        if self.exists() and not resume:
            raise InputError(
                f"{shown(self.path)} is the checkpoint of a run that has not finished; go on with it (--resume, or "
                "resume=True in Python), or remove it to start from the beginning"
            )

    def unfinished(self, resume: bool) -> Snapshot | None:
        """Return what to go on from, or None for a run from the beginning; `InputError` if neither is right.

        Called while the folder is `in_use`.
        """
        self.prepare(resume)
        if not self.exists():
            return None
        snapshot = Snapshot.load(self.path)
        self.iteration = snapshot.progress["iteration"]
        return snapshot

    def write(self, snapshot: Snapshot) -> None:
        """Replace the checkpoint."""
        if not self.folder.exists():
            self.folder.mkdir()
        snapshot.save(self.path)
        self._lock.folder_is_used = True
        self.iteration = snapshot.progress["iteration"]

    def remove(self) -> None:
        """Remove the checkpoint, and what killed processes left of theirs.

        The folder stays, unless it was made for a run that has not written a checkpoint.

        `InputError` if another run uses the folder.
        """
        if not self.folder.exists():
            return
        with self.in_use():
            self.path.unlink(missing_ok=True)
            self.remove_leftovers()

    def remove_leftovers(self) -> None:
        """Remove the incomplete files of processes that were killed while they wrote a checkpoint."""
        for leftover in self.folder.glob(f"{temporary_prefix(FILE_NAME)}*.tmp"):
            leftover.unlink(missing_ok=True)


def as_checkpoint(given: StrPath | Checkpoint) -> Checkpoint:
    """Return a checkpoint with the usual interval where only a folder is given."""
    return given if isinstance(given, Checkpoint) else Checkpoint(given)


class Saver:
    """Saves a run from time to time, always as it was after a whole pass, so that resuming repeats the same bits."""

    def __init__(self, checkpoint: Checkpoint, identity: Identity, callbacks: Sequence[Callback]) -> None:
        self._checkpoint = checkpoint
        self._identity = identity
        self._callbacks = callbacks
        self._pending: Snapshot | None = None
        self._last = time.monotonic()
        self._has_warned = False

    def restore_callbacks(self, snapshot: Snapshot) -> None:
        """Give the callbacks their state back."""
        own = [callback for callback in self._callbacks if callback.state()]
        here, there = [type(callback).__name__ for callback in own], [name for name, _ in snapshot.callbacks]
        if here != there:
            raise InputError(
                f"{shown(self._checkpoint.path)}: this checkpoint is of a run with callbacks = "
                f"{', '.join(there) or 'none'}, and now it is {', '.join(here) or 'none'}; early stopping "
                "(--patience) must be the same"
            )
        for callback, (name, state) in zip(own, snapshot.callbacks, strict=True):
            try:
                callback.restore(state)
            except LookupError as error:
                raise misfit(self._checkpoint.path, f"checkpoint and of {name}", error) from error

    def after_pass(self, run: Run) -> None:
        """Remember the run as it is now, and write it if it is time to."""
        states = [(type(callback).__name__, callback.state()) for callback in self._callbacks]
        own = [pair for pair in states if pair[1]]
        rows = list(run.trace.rows)
        self._pending = Snapshot(self._identity, run.state(), run.progress(), rows, own, run.choice)
        if time.monotonic() - self._last >= self._checkpoint.interval:
            self.flush()

    def flush(self) -> None:
        """Write what is remembered and not yet written; what cannot be written is told once, and tried again later."""
        if self._pending is None:
            return
        try:
            self._checkpoint.write(self._pending)
            self._pending = None
        except (OutputError, OSError) as error:
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(OutputWarning(self._cannot_save(error)), stacklevel=2)
        self._last = time.monotonic()

    def _cannot_save(self, error: OutputError | OSError) -> str:
        path = self._checkpoint.path
        said = str(error if isinstance(error, OutputError) else cannot_write(str(path), error))
        stands = "the one before stays there" if path.exists() else "there is none yet"
        return f"{said}; training goes on without this checkpoint ({stands}), and tries again with the next one"
