"""Damaged files of every format, plain and compressed, to train on, predict for and evaluate on."""

from __future__ import annotations

import functools
import io
import os
import zipfile

import numpy as np

from fuzz.commands import checked_command
from fuzz.contract import outcome
from fuzz.models import explain_options
from fuzz.samples import COMPRESSORS, PROGRAMS, train_arguments
from fuzz.tampering import damaged, damaged_text, tampered_array
from marginloom import read_conllu, read_crfsuite, read_detections, read_libsvm

_SEPARATORS = {
    "train.conll": b"\t",
    "train.conllu": b"\t",
    "train.conllx": b"\t",
    "train.trees": b"\t",
    "train.crfsuite": b"\t:",
    "train.svm": b" :",
}


def input_file(random, lab, runner=None):
    """Damage one of the files of a command."""
    name = random.choice(list(PROGRAMS))
    files = [word.rpartition("=")[2] for word in PROGRAMS[name]]
    victim = random.choice([file for file in files if (lab.samples / file).is_file()])
    path = _damaged_file(random, lab, victim)
    out = lab.empty("out") / _name(random, "o")
    options = {} if runner is None else {"runner": runner}
    if victim.startswith("dev."):
        model = lab.samples / f"program {name}.model"
        format = ["--format", name] if name in ("conll", "conllu", "conllx", "crfsuite") else []
        match random.randrange(7):
            case 0:
                return checked_command(["predict", model, path, "-o", out, *format], output=out, **options)
            case 1:
                return checked_command(["predict", model, "-", *format], stdin=path.read_bytes(), **options)
            case 2:
                return checked_command(["evaluate", model, path, *format], **options)
            case 3:
                return checked_command(["calibrate", model, path, "-o", out, *format], output=out, **options)
            case 4:
                confident = ["--confidence", *random.choice([[], ["--min-confidence", "0.5"]])]
                return checked_command(["predict", model, path, "-o", out, *confident, *format], output=out, **options)
            case 5:
                return checked_command(
                    ["explain", model, path, *explain_options(random, name, lab), *format], **options
                )
    arguments = train_arguments(name, lab.samples, {victim: str(path)})
    arguments[arguments.index("--checkpoint") + 1] = str(lab.scratch / "checkpoint")
    lab.empty("checkpoint")
    return checked_command([*arguments, "--model", out], output=out, **options)


def reader(random, lab):
    """Damage a file and read it with the function for its format."""
    readers = {
        "train.svm": read_libsvm,
        "train.sets": functools.partial(read_libsvm, multilabel=True),
        "train.crfsuite": read_crfsuite,
        "train.trees": read_conllu,
        "train.npz": read_detections,
    }
    name, read = random.choice(list(readers.items()))
    path = _damaged_file(random, lab, name)
    return outcome(lambda: read(path))


def _damaged_file(random, lab, name):
    content = (lab.samples / name).read_bytes()
    if name.endswith(".npz"):
        content = damaged_archive(random, content)
    else:
        content = damaged_text(random, content, _SEPARATORS.get(name, b" "))
    path = lab.scratch / _name(random, f"damaged {name}")
    if random.random() < 0.25:
        ending = random.choice(list(COMPRESSORS))
        content = COMPRESSORS[ending](content if random.random() < 0.5 else (lab.samples / name).read_bytes())
        if random.random() < 0.7:
            content = damaged(random, content)
        path = path.with_name(path.name + ending)
    path.write_bytes(content)
    return path


def _name(random, name):
    """Return the name of a file, which may begin with bytes that are no text."""
    if random.random() < 0.75:
        return name
    return os.fsdecode(random.choice([b"\xe9", b"\xff\xfe ", b"caf\xe9\n", b"\xed\xb3\xa9", b"\\\xe9"])) + name


def damaged_archive(random, content):
    """Change the bytes of an archive, those of an array in it, or the array."""
    kind = random.randrange(5)
    if kind == 0:
        return damaged(random, content)
    arrays = dict(np.load(io.BytesIO(content)))
    name = random.choice(list(arrays))
    out = io.BytesIO()
    if kind == 1:
        arrays[name] = tampered_array(random, arrays[name])
        np.savez(out, **arrays)
    elif kind == 2:
        del arrays[name]
        np.savez(out, **arrays, other=np.zeros(3))
    else:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            for member in old.namelist():
                data = old.read(member)
                if member == f"{name}.npy":
                    data = _damaged_array(random, data)
                new.writestr(member, data)
    return out.getvalue()


def _damaged_array(random, data):
    """Change the header of an array within an archive, which says how much memory it takes."""
    if random.random() < 0.4:
        return damaged(random, data)
    start = data.index(b"(", data.index(b"'shape'"))
    end = data.index(b")", start) + 1
    shape = random.choice([b"(9999999999,)", b"(6, 999999, 99999)", b"(-1,)", b"()", b"(2**60,)", b"(6, 7, 8, 1, 1)"])
    other = data[:start] + shape + data[end:]
    if random.random() < 0.5:  # the length that stands before the header is right again
        size = int.from_bytes(data[8:10], "little") + len(other) - len(data)
        other = other[:8] + size.to_bytes(2, "little") + other[10:]
    return other
