"""Parsers with labels, on gold parts of speech and one thread; UDPipe 1 sees no FEATS, and runs as a program."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from harness import udpipe
from harness.files import required
from harness.package import parse_score
from harness.systems import OURS, Measured, System, size_of, timed
from harness.treebanks import Sentences, write_conllu
from marginloom import DependencyParser, read_conllu

TREEBANKS = ("ud_english_ewt", "ud_dutch_lassysmall", "ud_turkish_imst", "ud_czech_cltt")
COLUMNS = ("form", "upos", "xpos", "feats")
#: Passes of UDPipe, each of which takes minutes.
UDPIPE_PASSES = 2
#: C of our own, chosen on development parts.
C = 0.01


def parse_systems(name: str) -> list[System]:
    """Return all programs for a treebank."""
    runs: dict[tuple[str, str | None], Callable[..., Measured]] = {
        (f"{OURS}, first order", None): _ours,
        (f"{OURS}, second order", None): partial(_ours, order=2),
        (f"{OURS}, first order, averaged perceptron", None): partial(
            _ours, algorithm="averaged-perceptron", C=None, max_iter=10
        ),
        (f"{OURS}, first order, without FEATS", None): partial(_ours, feats=False),
        (f"{OURS}, first order, without FEATS, labels with the arcs", None): partial(
            _ours, feats=False, label_stage="arc"
        ),
        (f"{OURS}, beam 8", None): partial(_ours, method="transition", algorithm="auto", C=None),
        (f"UDPipe 1, {UDPIPE_PASSES} passes", "ufal.udpipe"): _udpipe,
    }
    return [
        System(system, module, lambda folder, count, run=run: run(*_read(folder / name, count)))
        for (system, module), run in runs.items()
    ]


def _read(folder: Path, count: int | None) -> tuple[Sentences, Sentences]:
    parts = (read_conllu(required(folder / f"{part}.conllu.xz"), columns=COLUMNS) for part in ("train", "test"))
    train, test = (Sentences(*part).some(count) for part in parts)
    return train, test


def _measured(test: Sentences, found: Any, training: float, predicting: float, size: int) -> Measured:
    scores = parse_score(test.X, test.y, found)
    return Measured({name: scores[name] for name in ("uas", "las")}, training, predicting, len(test.X), size)


def _ours(train: Sentences, test: Sentences, **options: Any) -> Measured:
    options = {"algorithm": "dcd-ssvm", "C": C, "labelled": True, "n_threads": 1, **options}
    parser, training = timed(lambda: DependencyParser(columns=COLUMNS, **options).fit(train.X, train.y))
    found, predicting = timed(lambda: parser.predict(test.X))
    with tempfile.TemporaryDirectory() as folder:
        parser.save(path := Path(folder, "model"))
        size = size_of(path)
    return _measured(test, found, training, predicting, size)


def _udpipe(train: Sentences, test: Sentences) -> Measured:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, sentences in (("train", train), ("test", test)):
            words = [[word[:3] for word in one] for one in sentences.X]
            write_conllu(folder / part, Sentences(words, sentences.y))
        training = udpipe.train(folder / "train", folder / "model", UDPIPE_PASSES, float("inf"))
        predicting = udpipe.parse(folder / "model", folder / "test", folder / "found")
        _, found = read_conllu(folder / "found", "conllu")
        size = size_of(folder / "model")
    assert training is not None
    assert predicting is not None
    return _measured(test, found, training, predicting, size)
