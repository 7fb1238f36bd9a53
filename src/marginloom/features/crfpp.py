"""Templates of CRF++, written as ours."""

from __future__ import annotations

import re

from marginloom.errors import InputError
from marginloom.io.names import quoted

#: How names of files with templates of CRF++ end.
CRFPP = ".crfpp"

_MACRO = re.compile(r"%x\[\s*([+-]?\d+)\s*,\s*(\d+)\s*\]")


def templates_of_crfpp(text: str, name: str) -> str:
    r"""Return templates of CRF++ as ours, each on the line on which it was.

    ``U`` lines become templates of their macros, ``B`` lines the same with ``label[-1]``. ``%x[row,0]`` is
    ``word[row]``, ``%x[row,n]`` is ``column[row,n+1]``. A ``B`` alone stands for the weights of two labels in a row,
    which there always are.

    Parameters
    ----------
    text : str
        The file.
    name : str
        Its name, for messages.

    Examples
    --------
    >>> templates_of_crfpp("# words\nU00:%x[-1,0]/%x[0,0]\nB\nB01:%x[0,1]\n", "own.crfpp").splitlines()
    ['', 'word[-1] word[0]', '', 'label[-1] column[0,2]']
    """
    lines: list[str] = []
    prefixes: dict[str, int] = {}
    for number, written in enumerate(text.splitlines(), 1):
        line = written.strip()
        place = f"{name}, line {number}"
        if not line or line.startswith("#"):
            lines.append("")
            continue
        if line[0] not in "UB":
            raise InputError(
                f"{place}: found {quoted(line)}; a template of CRF++ begins with U or B, and a comment with #"
            )
        atoms = [_atom(int(row), int(column)) for row, column in _MACRO.findall(line)]
        if "%" in _MACRO.sub("", line):
            raise InputError(f"{place}: found {quoted(line)}; the only macros are like %x[-1,0], a row and a column")
        prefix = line.partition("%")[0]
        if prefix in prefixes:
            raise InputError(
                f"{place}: begins with {quoted(prefix)}, as line {prefixes[prefix]} does; CRF++ would merge equal "
                "values of both, and here every line has its own features: give each line its own identifier"
            )
        prefixes[prefix] = number
        if line[0] == "U":
            lines.append(" ".join(atoms) or "bias")
        else:
            lines.append(" ".join(["label[-1]", *atoms]) if atoms else "")
    return "\n".join(lines)


def _atom(row: int, column: int) -> str:
    return f"word[{row}]" if column == 0 else f"column[{row},{column + 1}]"
