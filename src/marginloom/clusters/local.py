"""Parts in this process, asked in messages as those of other processes are: for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from marginloom.clusters.changes import only_changes, with_changes
from marginloom.clusters.messages import packed, unpacked
from marginloom.training.part import Part, check_hellos
from marginloom.training.world import Answer, Answers, Arrays, Cluster, Recipe, Session, World, size_of

if TYPE_CHECKING:
    from marginloom import _core


class LocalParts(Cluster):
    """So many parts in this process. Training with them gives what one part gives, and takes longer.

    Parameters
    ----------
    parts : int
        How many.
    shares : sequence of float, optional
        How questions are divided whose answers are used one by one, see `World.shares`; by default one share per part.

    Examples
    --------
    >>> from marginloom import SequenceTagger
    >>> tagger = SequenceTagger("ms-dcd", cluster=LocalParts(2)).fit([["the", "dog"]], [["DET", "NOUN"]])
    >>> tagger.history_[0]["world"]["parts"]
    2
    """

    def __init__(self, parts: int, shares: Sequence[float] | None = None) -> None:
        self._parts = parts
        self._shares = shares

    def __repr__(self) -> str:
        return f"LocalParts({self._parts})"

    @contextmanager
    def session(self, recipe: Recipe | None = None) -> Iterator[Session]:
        """Return a session; there is no other process that an error would have to reach."""
        yield _LocalSession(self._parts, self._shares, recipe)


class _LocalSession(Session):
    def __init__(self, parts: int, shares: Sequence[float] | None, recipe: Recipe | None) -> None:
        self._parts = parts
        self._shares = shares
        self.recipe = recipe

    @property
    def parts(self) -> int:
        return self._parts

    def open(self, part: Part, decided: Mapping[str, Any], stop: _core.StopFlag) -> World:
        world = LocalWorld([part] * self._parts, stop, self._shares)
        check_hellos(world, part.identity, "this process")
        return world


class LocalWorld(World):
    """Parts that are asked one after the other.

    Parameters
    ----------
    parts : sequence of Part
        Who answers.
    stop : StopFlag
        Ends a question.
    shares : sequence of float, optional
        What `World.shares` returns.
    """

    def __init__(self, parts: Sequence[Part], stop: _core.StopFlag, shares: Sequence[float] | None = None) -> None:
        super().__init__()
        self._shares = shares
        self._parts = parts
        self._stop = stop
        self._known: Answer = {}

    @property
    def parts(self) -> int:
        """How many there are."""
        return len(self._parts)

    def shares(self, question: str) -> list[float]:
        """Return what was given, or one share per part."""
        return super().shares(question) if self._shares is None else list(self._shares)

    def part_of(self, answer: int) -> int:
        """Return which part gives an answer: they take turns."""
        return answer % len(self._parts)

    def _ask(self, question: str, common: Arrays, own: Sequence[Arrays], changed: Arrays) -> Answers:
        sent, names = only_changes(common, {name: changed[name] for name in changed if name in self._known})
        self._common_bytes = size_of(sent)
        received = {name: array.copy() for name, array in unpacked(packed({}, sent))[1].items()}
        self._known = with_changes(self._known, received, names)
        for number, given in enumerate(own):
            part = self._parts[self.part_of(number)]
            answer = part.answer(question, self._known, unpacked(packed({}, given))[1], self._stop)
            if self._stop.is_set:
                raise KeyboardInterrupt
            yield unpacked(packed({}, answer))[1]
