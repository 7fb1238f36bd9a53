"""Templates line by line: what each needs, and that it is there."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable

from marginloom import _core
from marginloom.errors import InputError

_ATOM = re.compile(r"(\w+)(?:\[[^,\]]*(?:,([^\]]*))?\])?")
#: What atoms need besides words, with the way to give it.
_NEEDS = {
    "pos": (
        "a column with parts of speech, and none was named",
        "name it with pos_column= (--pos-column)",
    ),
    "xpos": (
        "a column with parts of speech",
        "ask for the other part of speech with xpos=True (--xpos)",
    ),
    "feats": (
        "morphological features",
        "ask for them with feats=True (--feats)",
    ),
    "cluster": ("word clusters, and none were given", "give a file of them with clusters= (--clusters FILE)"),
    "gazetteer": ("gazetteers, and none was given", "give them with gazetteers= (--gazetteer NAME=FILE)"),
}
_WITHOUT_WORDS = ("bias", "direction", "distance", "label", "valency", "length", "order", "entities", "pair")
#: What the atoms ``feats`` read.
READS_FEATS = "column[feats]"
_LABEL = re.compile(r"label\[([+-]?\d+)\]")

#: The labels before a token that a template of taggers can read: the one before, the one before that, or both.
BEFORE, BEFORE_THAT, BOTH = range(3)


@dataclasses.dataclass(frozen=True)
class TemplateLine:
    """A template as it is written.

    Attributes
    ----------
    place : str
        Where it is, for messages: the name of its set, and the line if that is a file.
    text : str
        The template, with single spaces.
    """

    place: str
    text: str

    @property
    def kinds(self) -> list[str]:
        """What its atoms are, such as ``pos``."""
        return [_ATOM.match(atom)[1] for atom in self.text.split(" ")]  # type: ignore[index]

    @property
    def reach(self) -> int | None:
        """Which labels before the token it reads, in templates of taggers; None if it reads none.

        Examples
        --------
        >>> TemplateLine("own.txt, line 1", "label[-2] label[-1] word[0]").reach == BOTH
        True
        """
        found = {int(match[1]) for match in map(_LABEL.fullmatch, self.text.split(" ")) if match}
        if not found:
            return None
        return BOTH if len(found) == 2 else BEFORE if -1 in found else BEFORE_THAT

    @property
    def columns(self) -> list[str]:
        """What its atoms read, each once: ``word``, ``pos``, ``xpos``, or ``column[3]`` for ``column[0,3]``.

        FEATS, which has no atom for a column of another name, is ``column[feats]``.

        Examples
        --------
        >>> TemplateLine("own.txt, line 1", "suffix[0,2] column[-1,lemma] bias").columns
        ['word', 'column[lemma]']
        """
        found: dict[str, None] = {}
        for atom in self.text.split(" "):
            kind, argument = _ATOM.match(atom).groups()  # type: ignore[union-attr]
            if kind == "feats":
                found[READS_FEATS] = None
            elif kind == "column":
                found[f"column[{argument.lstrip('+')}]"] = None
            elif kind not in _WITHOUT_WORDS:
                found[kind if kind in ("pos", "xpos") else "word"] = None
        return list(found)

    def __str__(self) -> str:
        return f"the template {self.text!r} of {self.place}"


def template_lines(name: str, text: str, *, is_file: bool, about: str = "tokens") -> list[TemplateLine]:
    r"""Parse templates about ``tokens``, ``arcs``, ``states`` or ``spans``; `InputError` if one is wrong.

    Examples
    --------
    >>> [line.place for line in template_lines("own.txt", "# words\nword[0]\n\npos[0]", is_file=True)]
    ['own.txt, line 2', 'own.txt, line 4']
    """
    try:
        found = _core.numbered_templates(text, about)
    except ValueError as error:
        raise InputError(f"{name}, {error}") from error
    return [TemplateLine(f"{name}, line {number}" if is_file else name, line) for number, line in found]


def check_given(lines: Iterable[TemplateLine], given: Collection[str]) -> None:
    """Raise `InputError` if a template needs what was not given, so that it could never give a feature.

    Parameters
    ----------
    lines : iterable of TemplateLine
        The templates that are used.
    given : collection of str
        What there is of ``pos``, ``xpos``, ``cluster`` and ``gazetteer``.

    Examples
    --------
    >>> check_given([TemplateLine("own.txt, line 1", "word[0] pos[0]")], {"pos"})
    """
    for line in lines:
        for kind in line.kinds:
            if kind in _NEEDS and kind not in given:
                needed, advice = _NEEDS[kind]
                raise InputError(
                    f"{line.place}: the template {line.text!r} needs {needed}; {advice}, or remove the template"
                )
