"""The code of docs/from_crfsuite.md runs as it stands, on a corpus that is made up here."""

import re
from pathlib import Path

import numpy as np
from support.pages import code_of, run_code

from marginloom.metrics import sequence_scores

NAMES = {"PER": ["Ana", "Luis", "Eva Ruiz", "Juan Carlos"], "LOC": ["Madrid", "Lima", "Buenos Aires"]}
FRAMES = ["PER vive en LOC .", "En LOC llueve .", "PER llega a LOC con PER .", "Nadie vive en LOC ."]


def corpus(count, seed):
    """Return sentences as lines of word, part of speech and label."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(count):
        lines = []
        for word in rng.choice(FRAMES).split():
            if word in NAMES:
                parts = rng.choice(NAMES[word]).split()
                lines += [f"{part} NP {'I' if place else 'B'}-{word}" for place, part in enumerate(parts)]
            else:
                lines.append(f"{word} {'Fp' if word == '.' else 'VMI' if word.endswith('e') else 'SP'} O")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def test_the_code_of_the_page_recognises_entities(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("train.conll").write_text(corpus(40, seed=0), encoding="utf-8")
    Path("test.conll").write_text(corpus(15, seed=1), encoding="utf-8")
    blocks = code_of("from_crfsuite.md")
    assert len(blocks) == 7
    names = run_code("".join(blocks))
    assert sequence_scores(names["y_test"], names["y_pred"])["f1"] > 0.9
    assert sequence_scores(names["y_test"], names["y_best"])["f1"] > 0.9
    assert set(names["labels"]) == {"B-PER", "I-PER", "B-LOC", "I-LOC"}
    assert names["transitions"]["B-PER", "I-PER"] > names["transitions"]["O", "I-PER"]
    shown = capsys.readouterr().out
    assert "B-PER   -> I-PER" in shown
    assert re.search(r"^ *I-LOC( +[01]\.\d{3}){3} +\d+$", shown, re.MULTILINE)
