"""Which types the arguments of a relation may have: read from a file, or learnt from training."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from marginloom.errors import InputError
from marginloom.io.files import StrPath, decode_utf8, read_bytes, text_lines
from marginloom.io.names import shown
from marginloom.tasks.relations.sentences import NO_ENTITY, Corpus

#: A relation, a type of its head and a type of its tail.
Line: TypeAlias = tuple[str, str, str]


@dataclasses.dataclass(frozen=True)
class TableLine:
    """A line of a table with its place, for messages."""

    place: str
    line: Line


def read_relation_types(path: StrPath) -> list[TableLine]:
    r"""Read a table of types: RELATION HEAD TAIL a line, with tabs or spaces between; # begins a comment.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "types.txt")
    ...     size = path.write_text("Live_In Peop Loc\n")
    ...     read_relation_types(path)[0].line
    ('Live_In', 'Peop', 'Loc')
    """
    name = shown(path)
    found = []
    for number, text in enumerate(text_lines(decode_utf8(read_bytes(path), name)), 1):
        cells = text.split("\t") if "\t" in text else text.split()
        cells = [cell.strip() for cell in cells]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if len(cells) != 3 or not all(cells):
            raise InputError(
                f"{name}, line {number}: found {text[:80]!r}, expected RELATION HEAD TAIL: a relation and the types of "
                "its arguments, with tabs between where a name has spaces"
            )
        found.append(TableLine(f"{name}, line {number}", (cells[0], cells[1], cells[2])))
    if not found:
        raise InputError(f"{name}: found no line, expected RELATION HEAD TAIL on each; a table must allow a relation")
    return found


def given_relation_types(lines: Any) -> list[TableLine]:
    """Return a table that Python users give as tuples (relation, head type, tail type), or as a file's name.

    Examples
    --------
    >>> given_relation_types([("Live_In", "Peop", "Loc")])[0].place
    'relation_types[0]'
    """
    if isinstance(lines, (str, bytes)) or hasattr(lines, "__fspath__"):
        return read_relation_types(lines)
    if not isinstance(lines, Iterable) or isinstance(lines, Mapping):
        raise InputError(
            f"relation_types must be tuples (relation, head type, tail type), or a file, not {lines!r:.80}"
        )
    found = []
    for number, line in enumerate(lines):
        if not isinstance(line, (tuple, list)) or len(line) != 3 or not all(isinstance(name, str) for name in line):
            raise InputError(
                f"relation_types[{number}] is {line!r:.80}; give a tuple (relation, head type, tail type) of strings"
            )
        found.append(TableLine(f"relation_types[{number}]", (str(line[0]), str(line[1]), str(line[2]))))
    if not found:
        raise InputError("relation_types is empty; a table must allow a relation")
    return found


def checked_table(lines: Sequence[TableLine], types: Sequence[str], relations: Sequence[str]) -> list[Line]:
    """Return the lines, each once and in order; `InputError` if one names what training does not have.

    Examples
    --------
    >>> checked_table([TableLine("t, line 1", ("Kill", "Peop", "Dog"))], ["Loc", "Peop"], ["Kill"])
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: t, line 1: found the type 'Dog', which no training entity has; there are: Loc, Peop
    """
    for line in lines:
        relation, *ends = line.line
        if relation not in relations:
            raise InputError(
                f"{line.place}: found the relation {relation!r}, which the training data do not have; there are: "
                f"{', '.join(relations) or 'none'}"
            )
        for name in ends:
            if name == NO_ENTITY:
                raise InputError(
                    f"{line.place}: found the type {name!r}, which is for spans that are no entities and take part in "
                    "no relation; remove the line"
                )
            if name not in types:
                raise InputError(
                    f"{line.place}: found the type {name!r}, which no training entity has; there are: "
                    f"{', '.join(types)}"
                )
    return sorted({line.line for line in lines})


def learnt_table(corpus: Corpus) -> list[Line]:
    """Return which types the relations of gold connect.

    Examples
    --------
    >>> from marginloom.tasks.relations.records import checked_sentences
    >>> ends = [{"type": "Peop", "start": 0, "end": 1}, {"type": "Loc", "start": 1, "end": 2}]
    >>> relations = [{"type": "Live_In", "head": 0, "tail": 1}]
    >>> gold = {"tokens": ["Bo", "Ulm"], "entities": ends, "relations": relations}
    >>> learnt_table(checked_sentences([gold], labelled=True))
    [('Live_In', 'Peop', 'Loc')]
    """
    found = set()
    for sentence in corpus.sentences:
        types, relations = sentence.gold
        found |= {(relation.type, types[relation.head], types[relation.tail]) for relation in relations}
    return sorted(line for line in found if NO_ENTITY not in line)


def described(table: Iterable[Line]) -> str:
    """Return a table in one line.

    Examples
    --------
    >>> described([("Kill", "Peop", "Peop"), ("Live_In", "Peop", "Loc")])
    'Kill (Peop, Peop), Live_In (Peop, Loc)'
    """
    by_relation: dict[str, list[str]] = {}
    for relation, head, tail in table:
        by_relation.setdefault(relation, []).append(f"({head}, {tail})")
    return ", ".join(f"{relation} {' '.join(pairs)}" for relation, pairs in by_relation.items())
