"""CoNLL-U with changed IDs: every row is a word, a range or an empty node, or the file is refused; none vanishes."""

from __future__ import annotations

import re

from fuzz.commands import checked_command
from fuzz.contract import ACCEPTED

_COLUMNS = 10
_IDS = [
    b"2-", b"2.", b"-2", b".2", b"-", b".", b"1-2", b"0.1", b"10.10", b"1-2-3", b"1.2.3", b"1-2.3", b"a-b", b"1 - 2",
    b"", b"_", b"well-known", b"1.5e3", b"\xd9\xa1", b"+1", b"1-\0", b"1\xc2\xa0", b"#", b"99999999999999999999", b"01",
]  # fmt: skip


def identifiers(random, lab):
    """Change IDs, and perhaps how many columns such a row has, and predict or evaluate."""
    name = random.choice(["conllu", "trees"])
    rows = (lab.samples / f"dev.{name}").read_bytes().split(b"\n")
    words = [place for place, row in enumerate(rows) if row[:1].isdigit()]
    for place in random.sample(words, random.choice([1, 1, 2])):
        cells = [random.choice(_IDS), *rows[place].split(b"\t")[1:]]
        rows[place] = b"\t".join(cells[: random.choice([1, 2, 9, *[_COLUMNS] * 6])])
    path, out = lab.scratch / "identifiers.conllu", lab.empty("out") / "o"
    path.write_bytes(b"\n".join(rows))
    model = lab.samples / f"program {name}.model"
    if random.random() < 0.3:
        result = checked_command(["evaluate", model, path])
    else:
        result = checked_command(["predict", model, path, "-o", out], output=out)
        if result == ACCEPTED:
            assert out.read_bytes().count(b"\n") >= len(rows) - 1, "a row is gone"
    sound = all(_is_row(row) for row in rows)
    assert sound or result != ACCEPTED, "a row that is none was passed over"
    assert result == ACCEPTED or name == "trees" or not sound, "a sound file was refused"
    return result


def _is_row(row):
    if not row.strip(b" \t") or row.startswith(b"#"):
        return True
    cells = row.split(b"\t")
    return len(cells) == _COLUMNS and re.fullmatch(rb"[0-9]+([-.][0-9]+)?", cells[0]) is not None
