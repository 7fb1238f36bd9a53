"""Small random changes to bytes, text, JSON and arrays."""

from __future__ import annotations

import copy
import json

import numpy as np

#: One of every JSON type, and numbers and texts that are likely to be taken for granted.
VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 255, 65_536, 2**31, 2**32, -(2**63), 2**63, 2**64, 10**30, 10**400,
    0.0, -0.0, 0.5, -1.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"),
    "", "0", "x", "-1", "nan", "é🙂", "\ud800", "a\0b", "two\nlines", "\x1b[31m", "y" * 5000,
    [], [[]], [None], [0], [1, 2], [[1, 2]], [["a", 1]], [1e400], {}, {"": None}, {"name": "x"}, {"a": {"b": [1, {}]}},
]  # fmt: skip

#: Words and numbers that stand in files.
TOKENS = [
    b"", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8",
    b"_", b"-", b"#", b":", b",", b"=", b"\\", b"\"", b"0", b"-1", b"1", b"00", b"1e999", b"nan", b"inf", b"-0.0",
    b"4294967295", b"4294967296", b"2147483648", b"9223372036854775808", b"18446744073709551616", b"1" * 400,
    b"1:1", b"0:1", b"1:", b":1", b"-DOCSTART-", b"x" * 70_000, b"# text", b"1-2", b"1.1", b"B-X", b"word[0]",
    b"word[99999999999]", b"word[-2147483649]", b"prefix[0,0]", b"suffix[0,4294967296]", b"pos[0]", b"column[9,0]",
    b"pos[h]", b"pos[m-2]", b"pos[b]", b"word[s]", b"column[m,7]", b"label", b"direction", b"\x1f", b"\x1e",
    b"a:b:1e400", "é".encode(), "🙂".encode(),
]  # fmt: skip

DTYPES = ["<f8", "<i8", "<u8", "u1", "<f4", "<f2", "?", "<u4", "<i4", "<u2", "i1"]


def damaged(random, data):
    """Return bytes with some of them changed."""
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 5])):
        place = random.randrange(len(data) + 1)
        size = random.choice([1, 1, 2, 8, 64, 1000])
        match random.randrange(7):
            case 0:
                if place < len(data):
                    data[place] ^= 1 << random.randrange(8)
            case 1:
                del data[place:]
            case 2:
                del data[place : place + size]
            case 3:
                data[place:place] = random.randbytes(size)
            case 4:
                data[place : place + size] = random.randbytes(size)
            case 5:
                data[place:place] = data[place : place + size]
            case 6:
                data[place : place + random.choice([0, 1])] = random.choice(TOKENS)
    return bytes(data)


def damaged_text(random, data, separators=b" \t"):
    """Return a text with some lines or words changed."""
    lines = bytes(data).split(b"\n")
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        place = random.randrange(len(lines))
        match random.randrange(8):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, lines[random.randrange(len(lines))])
            case 2:
                lines[place] = b""
            case 3 | 4 | 5:
                lines[place] = _with_other_word(random, lines[place], separators)
            case 6:
                lines[place] += random.choice(TOKENS)
            case 7:
                return damaged(random, b"\n".join(lines))
        lines = lines or [b""]
    return b"\n".join(lines)


def _with_other_word(random, line, separators):
    separator = bytes([random.choice([byte for byte in separators if byte in line] or [separators[0]])])
    words = line.split(separator)
    place = random.randrange(len(words))
    match random.randrange(4):
        case 0:
            del words[place]
        case 1:
            words.insert(place, words[place])
        case _:
            words[place] = random.choice(TOKENS)
    return separator.join(words)


def tampered_json(random, value):
    """Return a copy of a JSON value with something in it replaced, removed, doubled or added."""
    root = {"": copy.deepcopy(value)}
    places = list(_places(root))
    for _ in range(random.choice([1, 1, 1, 1, 2, 3])):
        holder, key = random.choice(places[1:] or places)
        if (isinstance(holder, dict) and key not in holder) or (isinstance(holder, list) and key >= len(holder)):
            continue
        match random.randrange(6):
            case 0 if holder is not root:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 2:
                holder[key] = _near(random, holder[key])
            case 3 if isinstance(holder, dict):
                holder[random.choice(["", "name", "learner", "x", "é", "code"])] = random.choice(VALUES)
            case 4:
                holder[key] = _nested(random)
            case _:
                holder[key] = copy.deepcopy(random.choice(VALUES))
    return root[""]


def _places(value):
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _near(random, value):
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return random.choice([value + 1, value - 1, -value, value * 2, float(value), str(value), [value]])
    if isinstance(value, float):
        return random.choice([-value, value * 1e300, int(value) if abs(value) < 1e300 else 0, str(value), [value]])
    if isinstance(value, str):
        return random.choice([value + "x", value[:-1], value.upper(), [value], list(value)])
    return random.choice([[value], json.dumps(value), len(value)])


def _nested(random):
    value = random.choice(VALUES)
    for _ in range(random.choice([3, 30, 300])):
        value = [value] if random.random() < 0.5 else {"a": value}
    return value


def tampered_arrays(random, arrays):
    """Return copies of arrays by name with one or two changed, removed, renamed, exchanged or added."""
    arrays = {name: np.array(array) for name, array in arrays.items()}
    for _ in range(random.choice([1, 1, 1, 2])):
        names = list(arrays)
        if not names:
            return arrays
        name = random.choice(names)
        match random.randrange(10):
            case 0:
                del arrays[name]
            case 1:
                other = random.choice(names)
                arrays[name], arrays[other] = arrays[other], arrays[name]
            case 2:
                arrays[f"{name}{random.choice(['', '_', '0', 'é', '.x'])}"] = tampered_array(random, arrays[name])
            case _:
                arrays[name] = tampered_array(random, arrays[name])
    return arrays


def tampered_array(random, array):
    """Return an array of another type, another shape or with other values."""
    if array.dtype == np.uint8 and random.random() < 0.5:
        return _tampered_json_bytes(random, array)
    match random.randrange(8):
        case 0:
            with np.errstate(all="ignore"):
                return array.astype(random.choice(DTYPES)) if array.dtype.kind != "U" else array.astype("S")
        case 1:
            return array[: random.randrange(array.shape[0] + 1)] if array.ndim else array.reshape(1)
        case 2:
            flat = array.reshape(-1)
            return np.concatenate(
                [flat, flat[: random.choice([1, 3, 1000])], np.zeros(random.choice([0, 1]), array.dtype)]
            )
        case 3:
            return array.reshape(random.choice([(1, -1), (-1, 1), (1, 1, -1)]))
        case 4:
            return np.zeros(
                random.choice([(), (0,), (1,), (0, 5), (3, 0), (100_000,)]), dtype=random.choice(DTYPES[:4])
            )
        case 5:
            return array[::-1].copy() if array.ndim else array
        case _:
            return _with_other_values(random, array)


def _tampered_json_bytes(random, array):
    """Change a text, as JSON if it is some, or as bytes."""
    try:
        text = json.dumps(tampered_json(random, json.loads(array.tobytes()))).encode()
    except (ValueError, RecursionError):
        text = damaged(random, array.tobytes())
    return np.frombuffer(text, dtype=np.uint8)


def _with_other_values(random, array):
    changed = array.reshape(-1).copy()
    if not changed.size:
        return array
    floats = [0.0, -0.0, 1.0, -1.0, 0.5, 1e300, -1e300, 1e-320, np.nan, np.inf, -np.inf]
    wholes = [0, 1, 2, 3, 7, 255, 2**16 - 1, 2**16, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
    for _ in range(random.choice([1, 1, 3, changed.size])):
        place = random.randrange(changed.size)
        if changed.dtype.kind == "U":
            changed[place] = random.choice([text for text in VALUES if isinstance(text, str)])
        elif changed.dtype.kind == "f":
            changed[place] = random.choice([*floats, changed[place] * 2])
        else:
            width = 8 * changed.itemsize
            number = random.choice([*wholes, int(changed[place]) + 1, int(changed[place]) - 1]) % 2**width
            changed[place] = np.array([number], dtype=f"u{changed.itemsize}").view(changed.dtype)[0]
    return changed.reshape(array.shape)
