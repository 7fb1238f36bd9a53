"""Things as arrays, from JSON lines such as {"things": [[0.5, 1], [2, 0]], "right": 1}."""

import json
from dataclasses import dataclass

import numpy as np

from marginloom import InputError
from marginloom.io.files import read_bytes


@dataclass
class Pointed:
    """Arrays of things, and the number of the right one of each, or None where it is not known."""

    X: list
    y: list


def as_things(rows, place):
    """Return an array with a row for every thing."""
    try:
        things = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: the things are not rows of numbers") from error
    if things.ndim != 2 or things.size == 0:
        raise InputError(f"{place}: expected a list of things, each with as many numbers as the others")
    return things


def parse_line(line, place):
    """Return the things of a line, and the right one."""
    try:
        found = json.loads(line)
        return as_things(found["things"], place), found.get("right")
    except (ValueError, TypeError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{place}: found {line.strip()!r}, expected a JSON object with 'things'") from error


def read_pointed(path):
    """Read a file, plain or compressed."""
    lines = read_bytes(path).decode().splitlines()
    parsed = [parse_line(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]
    return Pointed([things for things, _ in parsed], [right for _, right in parsed])
