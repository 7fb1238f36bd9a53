"""Texts that several docstrings share."""

from __future__ import annotations

from collections.abc import Mapping


def with_shared_texts(documentation: str, texts: Mapping[str, str]) -> str:
    r"""Fill in the texts whose names stand in braces, alone on a line, indented as the braces are.

    Examples
    --------
    >>> print(with_shared_texts("Greet.\n\n  {greeting}", {"greeting": "Hello"}))
    Greet.
    <BLANKLINE>
      Hello
    """
    lines: list[str] = []
    for line in documentation.splitlines():
        text = texts.get(line.strip().removeprefix("{").removesuffix("}"))
        if text is None:
            lines.append(line)
        else:
            indent = line[: len(line) - len(line.lstrip())]
            lines += [f"{indent}{shared}" for shared in text.strip("\n").splitlines()]
    return "\n".join(lines)
