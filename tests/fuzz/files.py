"""Model files and checkpoints with changed parts and right checksums."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.tampering import damaged, tampered_arrays, tampered_json
from marginloom.io.model import FORMAT, _text_checksum, checksum
from marginloom.io.safetensors_file import map_safetensors


def tampered_file(random, source, target):
    """Write a changed copy of a model file or checkpoint; mostly its checksums are right."""
    kind = random.randrange(12)
    if kind == 0:
        Path(target).write_bytes(damaged(random, Path(source).read_bytes()))
        return
    with Path(source).open("rb") as file:
        metadata, arrays = map_safetensors(file)
    content = json.loads(metadata[FORMAT])
    content.pop("checksum")
    if kind == 1:
        _write_layout(random, source, target)
        return
    if kind == 2:
        content = tampered_json(random, content)
    elif kind <= 6:
        content["header"] = tampered_json(random, content["header"])
    else:
        arrays = tampered_arrays(random, arrays)
        if kind == 11:
            content["header"] = tampered_json(random, content["header"])
    write(target, content, arrays)


def write(target, content, arrays):
    """Write a file with right checksums, as far as its content has a place for them."""
    from safetensors.numpy import save

    if isinstance(content, dict):
        if isinstance(content.get("checksums"), dict):
            content["checksums"] = {name: checksum(array) for name, array in arrays.items()}
        content["checksum"] = _text_checksum(content)
    Path(target).write_bytes(save(arrays, {FORMAT: json.dumps(content, sort_keys=True)}))


def _write_layout(random, source, target):
    """Change types, shapes and places of arrays in the outer header, which the checksums do not cover."""
    whole = Path(source).read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:start])
    metadata = header.pop("__metadata__")
    match random.randrange(3):
        case 0:
            header = tampered_json(random, header)
        case 1:
            entry = random.choice(list(header.values()))
            entry["dtype"] = random.choice(["F64", "I64", "U64"] if entry["dtype"] != "U8" else ["U8", "I8", "BOOL"])
        case 2:
            entry = random.choice(list(header.values()))
            entry["shape"] = random.choice([[1, *entry["shape"]], [*entry["shape"], 1], [*entry["shape"], 1, 1]])
    if isinstance(header, dict):
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(target).write_bytes(len(text).to_bytes(8, "little") + text + whole[start:])
