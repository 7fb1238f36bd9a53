"""Trees built from left to right by beam search; the search is in cpp/tasks/parse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import checked, one_of
from marginloom.core.choice import Choice, Circumstances
from marginloom.core.prefixes import DEFAULT_BEAM, UPDATES, checked_beam, checked_update, why_a_beam_lacks
from marginloom.errors import InputError
from marginloom.tasks.parse.sentences import lengths_of
from marginloom.tasks.parse.task import BeamOptions, ParseTask, TreeOptions, Trees

#: How trees are found: by scores of all arcs, or from left to right.
METHODS = ("graph", "transition")
_TRANSITION = "method=transition (--method transition)"
#: Bytes of what the search keeps of earlier states of a sentence.
_KEPT_SUMS = 4 << 20


def checked_method(method: Any) -> str:
    """Return how trees are found; `InputError` in one sentence unless it is one of `METHODS`.

    Examples
    --------
    >>> checked_method("transition")
    'transition'
    """
    return str(checked("method", method, one_of(*METHODS)))


def settled_search(
    method: str, *, beam: int | None = None, merging: bool = True, update: str | None = None, **others: Any
) -> BeamOptions | None:
    """Return how a beam searches, None for graphs; `InputError` in one sentence if options do not go together.

    Parameters
    ----------
    method : {"graph", "transition"}
        How trees are found.
    beam, merging, update
        As `BeamOptions` has them; None for what was not given.
    **others
        From an option that only graphs have, as users write it, to whether it was given.

    Examples
    --------
    >>> settled_search("transition", beam=4)
    BeamOptions(beam=4, merging=True, update='max-violation')
    """
    merging = checked("merging", merging, "switch")
    if method == "graph":
        given = {"beam (--beam)": beam is not None, "merging=False (--no-merging)": not merging}
        given["update (--update)"] = update is not None
        for name in (name for name, there in given.items() if there):
            raise InputError(f"{name} needs {_TRANSITION}, and the method is graph; leave it out, or change the method")
        return None
    for name in (name for name, there in others.items() if there):
        raise InputError(
            f"{name} does not go with {_TRANSITION}, which finds projective trees with one root by beam search; leave "
            "it out, or train with method=graph"
        )
    return BeamOptions(
        DEFAULT_BEAM if beam is None else checked_beam(beam),
        merging,
        UPDATES[0] if update is None else checked_update(update),
    )


class TransitionTask(ParseTask):
    """Sentences to be parsed from left to right; the parameters are those of `ParseTask`, whose options have a search.

    Examples
    --------
    >>> from marginloom.tasks.parse.features import ArcFeatureSet
    >>> features = ArcFeatureSet(method="transition", labelled=False, hash_bits=8)
    >>> values = features.values([[("dogs", "NOUN"), ("bark", "VERB")]])
    >>> options = TreeOptions(search=BeamOptions())
    >>> task = TransitionTask(np.array([0, 2], np.uint64), values, features.core, options)
    >>> task.predict(np.zeros(task.core.dimension)).heads.tolist()
    [2, 0]
    """

    core: _core.TransitionTask

    def _make(self, data: _core.ParseData, features: Any, options: TreeOptions, **_: Any) -> _core.TransitionTask:
        assert options.search is not None
        choices = _core.TransitionOptions(
            beam=options.search.beam,
            merging=options.search.merging,
            update=options.search.update,
            label_count=options.label_count,
            root_labels=list(options.root_labels),
            other_labels=list(options.other_labels),
        )
        return _core.TransitionTask(data, choices, features)

    @property
    def fingerprint(self) -> str:
        """Identify the method, the sentences' lengths and trees."""
        return f"method=transition:{super().fingerprint}"

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify the method too, the sentences, their trees, their features and the options."""
        return {"method": "transition", **super().fingerprints, "examples": super().fingerprint}

    @property
    def memory(self) -> int:
        """Bytes of what templates see, and of the right trees."""
        return self._array_bytes

    @property
    def buffer_bytes(self) -> int:
        """Bytes of all states of the beam of the longest sentence, and of what is known of each of its words."""
        assert self._options.search is not None
        beam, words = self._options.search.beam, self._longest + 1
        states = 2 * words * beam * self.core.state_bytes + beam * self.core.step_bytes
        return states + 4 * words * (8 * self.core.stride + 1000) + _KEPT_SUMS

    @property
    def pass_work(self) -> float:
        """What the features of states take."""
        assert self._options.search is not None
        steps = 2.0 * float(lengths_of(self._sentences).sum())
        return steps * (100 + 100 * self._options.search.beam)

    def why_it_lacks(self, need: str) -> str:
        """Say that beam search has it not."""
        return (
            why_a_beam_lacks("method=transition")
            if need in ("loss-augmented", "k-best")
            else super().why_it_lacks(need)
        )

    @property
    def why_no_marginals(self) -> str:
        """Say that a beam does not see all trees."""
        return (
            "beam search does not sum over all trees, so a parser with method=transition has no probabilities: train "
            "with method=graph (--method graph)"
        )

    def choose(self, circumstances: Circumstances) -> Choice:
        """Return what benchmarks/RESULTS.md favours: batches need more passes, but threads search them."""
        threads = circumstances.n_threads
        if threads == 1:
            return Choice("mira", circumstances.one_thread)
        return Choice("minibatch-mira", f"{threads} threads")

    @property
    def name_of_buffer(self) -> str:
        """What takes `buffer_bytes`."""
        return "the states of the longest sentence"

    def way_to_parse(self) -> str:
        """Say what a user can do where sentences are too long."""
        return f"take a smaller beam, or split the longest sentence, which has {self._longest:,} words"

    def _decoded(self, outputs: NDArray[np.uint8], bounds: NDArray[np.uint64], lengths: NDArray[np.int64]) -> Trees:
        found = self.core.read_trees(outputs, bounds)
        return Trees(found.heads, found.labels if self._options.label_count else None)


def task_class(options: TreeOptions) -> type[ParseTask]:
    """Return the task that finds such trees.

    Examples
    --------
    >>> task_class(TreeOptions()).__name__, task_class(TreeOptions(search=BeamOptions())).__name__
    ('ParseTask', 'TransitionTask')
    """
    return ParseTask if options.search is None else TransitionTask
