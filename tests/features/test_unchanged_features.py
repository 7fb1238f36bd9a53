"""Features of taggers, to the bit, as they were when models were trained with them."""

import hashlib
import random

import pytest

from marginloom.features import ExtractedFeatures, Lists
from marginloom.features.sets import FEATURE_SETS

TEMPLATES = """
bias
word[0]  # a comment
lower[-1] word[+1]
prefix[0,2] suffix[1,3]
shape[0] shortshape[-2]
pos[0] column[-1,2]
cluster[0,2] word[3]
gazetteer[0] pos[-1]
"""
#: Of the features that the version before parsers made of the same sentences.
BEFORE = {
    ("words", None): ("dd8196f0a80dd99d", "dd8196f0a80dd99d"),
    ("words", 12): ("576f8bb3c3017717", "576f8bb3c3017717"),
    ("tagging", None): ("aa87d70be93f2e92", "aa87d70be93f2e92"),
    ("tagging", 12): ("b29e3f15c654a3a0", "b29e3f15c654a3a0"),
    ("chunking", None): ("ea1de3595600e3b8", "ea1de3595600e3b8"),
    ("chunking", 12): ("b448872f22aac4b9", "b448872f22aac4b9"),
    ("ner", None): ("eab924a855d63480", "ca0b33ab762e7d45"),
    ("ner", 12): ("0175f971d0b06678", "12b37e92a2bbec01"),
    # the same but for what is observed at transitions
    ("ner-observed", None): ("eab924a855d63480", "ca0b33ab762e7d45"),
    ("ner-observed", 12): ("0175f971d0b06678", "12b37e92a2bbec01"),
    ("own", None): (None, "7c724ecb3f149185"),  # its templates need lists
    ("own", 12): (None, "085d8288703b7492"),
}


def sentences():
    draw = random.Random(0)
    parts = ["ka", "Lo", "mi", "ñu", "Éd", "7", "-", "ž", "Дя", "漢", "x"]
    words = ["".join(draw.choices(parts, k=draw.randint(1, 4))) for _ in range(80)]
    return [[(draw.choice(words), draw.choice("NVPD")) for _ in range(draw.randint(1, 9))] for _ in range(50)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    words = sorted({word for sentence in sentences() for word, _ in sentence})
    (folder / "own").write_text(TEMPLATES)
    (folder / "brown").write_text("".join(f"{n:b}\t{word}\t{n}\n" for n, word in enumerate(words[::2], 1)))
    names = [" ".join(word for word, _ in sentence[:2]) for sentence in sentences()]
    (folder / "names").write_text("\n".join(names))
    return folder


def digest(features):
    fitted, again = features.fit(sentences()), features.transform(sentences())
    assert fitted.features.tobytes() == again.features.tobytes()
    names = features.tensors()["features_text"]
    whole = b"".join(part.tobytes() for part in (fitted.sentences, fitted.tokens, fitted.features, names))
    return hashlib.sha256(whole).hexdigest()[:16]


@pytest.mark.parametrize("hash_bits", [None, 12])
@pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in BEFORE))
def test_features_of_taggers_are_what_they_were(folder, name, hash_bits):
    path = name if name in FEATURE_SETS else str(folder / name)
    lists = Lists.read(folder / "brown", {"G": folder / "names"})
    without, with_lists = BEFORE[name, hash_bits]
    if without is not None:
        assert digest(ExtractedFeatures(path, hash_bits=hash_bits, pos_column=2)) == without
    assert digest(ExtractedFeatures(path, hash_bits=hash_bits, pos_column=2, lists=lists)) == with_lists
