"""Runs the program in this process and tells which files were opened while it ran; a program of its own.

The arguments are those of the program. It prints a JSON object with the exit code, what the program said, the files,
and how many of them had been opened before each piece of standard input was read. Pieces end with a null byte.
"""

from __future__ import annotations

import io
import json
import sys

from marginloom import cli


class Pieces(io.RawIOBase):
    """A stream of bytes of which each reading gets a piece."""

    def __init__(self, pieces: list[bytes], opened: list[str]) -> None:
        self._pieces = pieces
        self._opened = opened
        self.counts: list[int] = []

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        self.counts.append(len(self._opened))
        if not self._pieces:
            return 0
        piece = self._pieces.pop(0)
        buffer[: len(piece)] = piece
        return len(piece)


def main() -> None:
    opened: list[str] = []

    def note(event: str, arguments) -> None:
        if event == "open" and isinstance(arguments[0], str):
            opened.append(arguments[0])

    pieces = Pieces(sys.stdin.buffer.read().split(b"\0"), opened)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(pieces))
    out, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
    sys.addaudithook(note)
    code = cli.run(sys.argv[1:])
    files = opened.copy()
    answers = sys.stdout.buffer.getvalue().decode()
    print(json.dumps({"code": code, "opened": files, "before": pieces.counts, "said": answers}), file=out)


if __name__ == "__main__":
    main()
