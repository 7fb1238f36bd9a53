"""The record of a training run: one row per iteration, read by everything that shows a run."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from marginloom.core.row import Row
from marginloom.io.files import StrPath
from marginloom.io.json_lines import JsonLines


class Trace:
    """Settings of a run and its rows.

    A row says what was true after its own pass. If the model has the weights of an earlier pass than the last, because
    early stopping went back to it, the certificate that training ends with is in the row of that pass, which
    `marginloom.Result.weights_iteration` names; the rows after it stay as they were. Weights that no whole
    pass of the run has left behind have their certificate in the result alone.

    A row has the keys ``iteration``, ``algorithm`` (the one that has made the pass), ``seconds`` (since the start of
    training), ``primal``, ``dual``, ``gap`` (null where the learner has none), ``certified`` (true if those three are a
    certificate, whose primal and gap are upper bounds where inference is inexact but bounded; false if they are
    estimates, from the slacks as the pass met them or from an inference that is inexact without bounds; a learner
    without a dual has a primal in the row of the model's weights only), ``wrong`` (examples for which the pass found a
    violated candidate), ``training_loss`` (mean over the examples: the loss of the predictions, or the slack where the
    search is loss-augmented), ``inferences`` and ``updates`` (since the start), ``active`` (candidates held),
    ``working_set_mb`` (memory that they take), ``candidates`` (``found`` by searches, ``accepted`` by the learner, and
    ``stale`` by then), ``weights_age`` (updates that the learner was ahead of the weights of a search, on average),
    ``scores`` (per evaluation set) and ``threads`` (a list with each thread's ``inference``, ``update``, ``publishing``
    and ``waiting`` seconds, which add up to the time of the pass). With several processes it also has ``world``:
    ``parts`` (that answer), ``questions``, bytes ``sent`` and ``received``, ``seconds`` in which a question was open,
    ``work`` and ``waiting`` (of each part's threads in that time) and parts ``asked_again``, all since the last row.
    On the engine ``cascade`` it has ``cascade``: ``solutions`` of blocks together, ``runs`` through the ``layers``,
    ``candidates`` that these began with and ``support_vectors`` that they ended with, bytes ``sent`` to parts and
    ``received``, and the seconds of the slowest parts (``computing``), of last layers (``last``) and of all layers.

    Parameters
    ----------
    settings : mapping
        What the run was asked to do. Those of its algorithm change when it turns to another one; in a file the rows
        tell.

    Examples
    --------
    >>> trace = Trace({"algorithm": "dcd-ssvm"})
    >>> trace.append({"iteration": 1, "gap": 0.5})
    >>> trace.rows[-1]["gap"]
    0.5
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = dict(settings)
        self.rows: list[Row] = []
        self._file: JsonLines | None = None

    def record_to(self, path: StrPath) -> None:
        """Write the settings, the rows so far and from now on every row to a file, as lines of JSON.

        If the disk is full, the file ends there with a warning; the rows here go on.
        """
        self._file = JsonLines(path)
        for record in (self.settings, *self.rows):
            self._file.append(record)

    def append(self, row: Row) -> None:
        """Add the row of an iteration."""
        self.rows.append(row)
        if self._file is not None:
            self._file.append(row)

    def row(self, iteration: int) -> Row | None:
        """Return the row of an iteration, or None if there is none."""
        return next((row for row in reversed(self.rows) if row["iteration"] == iteration), None)

    def amend(self, iteration: int, values: Mapping[str, Any]) -> None:
        """Change the row of an iteration, in the file too."""
        row = self.row(iteration)
        assert row is not None
        row.update(values)
        if self._file is not None:
            place = next(k for k, other in enumerate(self.rows) if other is row)
            self._file.replace_last(*self.rows[place:])

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
