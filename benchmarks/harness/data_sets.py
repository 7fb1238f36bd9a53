"""The data sets by name, and how much of each `--quick` takes."""

from __future__ import annotations

from pathlib import Path

from harness.classes import digits, libsvm_classes, mnist
from harness.label_sets import TMC, TMC_C, TMC_CHOSEN, LabelSettings, labels_adapter
from harness.problem import Adapter, Problem
from harness.sequences import entities, ocr_letters, tags
from harness.treebanks import all_treebanks

#: Part of speech with the feature set after the dash, named entities, handwritten words; most important first.
SEQUENCES: dict[str, Adapter] = {
    "conll2000-words": tags("conll2000-words", "conll2000_chunking", 1, "words"),
    "conll2000-tagging": tags("conll2000-tagging", "conll2000_chunking", 1, "tagging"),
    "brown-words": tags("brown-words", "brown_pos", 2, "words"),
    "conll2003_en": entities("conll2003_en", 3, "bio"),
    "brown-tagging": tags("brown-tagging", "brown_pos", 2, "tagging"),
    # a training sentence starts with I-LOC, so that its right labels would break the constraints
    "conll2002_es": entities("conll2002_es", 2, None),
    "ocr_letters": ocr_letters,
}
#: C is per example; the paper's for letter is 100,000 over 15,000.
CLASSIFICATION: dict[str, Adapter] = {
    "letter": libsvm_classes("letter", 6.667),
    "mnist": mnist,
    "sector": libsvm_classes("sector", 1.0),
    "ml_scene": labels_adapter("ml_scene", "ml_scene", LabelSettings(1.0, length=None)),
    TMC: labels_adapter(TMC, TMC, LabelSettings(TMC_C)),
    f"{TMC}-chosen": labels_adapter(f"{TMC}-chosen", TMC, TMC_CHOSEN),
    "ml_delicious": labels_adapter("ml_delicious", "ml_delicious", LabelSettings(1.0)),
    "digits": digits,
}
#: Treebanks with the trees that are learnt.
TREEBANKS: dict[str, Adapter] = all_treebanks()
QUICK_SEQUENCES, QUICK_EXAMPLES, QUICK_IMAGES = 1_000, 600, 100


def quick_size(name: str) -> int:
    """Return how many examples of a data set `--quick` takes."""
    if name in SEQUENCES or name in TREEBANKS:
        return QUICK_SEQUENCES
    return QUICK_IMAGES if name == "digits" else QUICK_EXAMPLES


def read_problem(folder: Path, name: str, count: int | None = None) -> Problem:
    """Read a data set, or a seeded sample of it."""
    return {**SEQUENCES, **CLASSIFICATION, **TREEBANKS}[name](folder, count)
