"""What a training run writes: checked before the long work, and saved at its end, elsewhere if need be."""

from __future__ import annotations

import dataclasses
import itertools
import stat
from collections.abc import Sequence
from pathlib import Path

from marginloom.errors import InputError, OutputError
from marginloom.io.files import StrPath, cannot_write, check_writable_target
from marginloom.io.names import quoted
from marginloom.io.overwriting import named_files, refuse_overwriting, refuse_same_outputs
from marginloom.tasks.base.model import Model
from marginloom.training.checkpoint import Checkpoint


@dataclasses.dataclass(frozen=True)
class Saved:
    """Where a model was written.

    Attributes
    ----------
    place : str
        The file.
    failure : str
        Why it is not the one that was asked for; empty if it is, or if training was interrupted.
    """

    place: str
    failure: str = ""


@dataclasses.dataclass(frozen=True)
class Outputs:
    """The files of one training run, as the command line names them."""

    model: str
    trace: str | None
    checkpoint: Checkpoint | None

    def check_distinct(self) -> None:
        """Raise `InputError` if two of them are the same file."""
        refuse_same_outputs(self._named())

    def check(self, inputs: Sequence[tuple[str, StrPath]]) -> None:
        """Raise `InputError` if one of them is read, or cannot be written; the checkpoint looks after itself."""
        refuse_overwriting(self._named(), inputs)
        check_writable_target(self.model)
        if self.trace is not None:
            check_writable_target(self.trace)

    def save(self, model: Model, interrupted: bool) -> Saved:
        """Write the model; where that fails, into the folder of the checkpoint or the working folder.

        An interrupted run leaves a model that is there as it is, and writes beside it.

        Raises
        ------
        OutputError
            If it cannot be written anywhere.
        """
        target = self._interrupted_model if interrupted and _is_file(self.model) else self.model
        try:
            model.save(target)
            return Saved(target)
        except (InputError, OSError) as error:
            failure = error if isinstance(error, InputError) else cannot_write(target, error)
        folders = [*([self.checkpoint.folder] if self.checkpoint is not None else []), Path.cwd()]
        for folder in folders:
            path = self._free_name(folder, Path(target))
            try:
                model.save(path)
                return Saved(str(path), f"{failure}; the model is in {quoted(path)} instead")
            except (InputError, OSError):
                continue
        tried = " nor in ".join(quoted(folder) for folder in folders)
        raise OutputError(f"{failure}; it could not be written in {tried} either") from failure

    @property
    def _interrupted_model(self) -> str:
        return f"{self.model}.interrupted"

    def _named(self) -> list[tuple[str, StrPath]]:
        return [
            *named_files({"--model": self.model, "--trace": self.trace}),
            ("interrupted training's", self._interrupted_model),
            *(("--checkpoint", path) for path in (self.checkpoint.files if self.checkpoint is not None else [])),
        ]

    def _free_name(self, folder: Path, wanted: Path) -> Path:
        """Return a path in a folder that is neither there nor anything else of this run."""
        own = {Path(path).resolve() for _, path in self._named()}
        names = itertools.chain([wanted.name], (f"{wanted.name}.{number}" for number in itertools.count(1)))
        paths = (folder / name for name in names)
        return next(path for path in paths if not path.is_symlink() and not path.exists() and path.resolve() not in own)


def _is_file(path: str) -> bool:
    """Tell whether there is a file to keep; a device has nothing to lose."""
    try:
        return stat.S_ISREG(Path(path).stat().st_mode)
    except OSError:
        return False
