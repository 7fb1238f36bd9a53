"""Vocabularies that are loaded lie on the arrays of their file."""

import numpy as np
import pytest

from marginloom.common.vocabularies import load_vocabulary


def _tensors(text, offsets):
    return {"words_text": np.frombuffer(text, np.uint8).copy(), "words_offsets": np.array(offsets, np.uint64)}


def test_a_loaded_vocabulary_does_not_copy_its_text():
    tensors = _tensors(b"abc", [0, 1, 3])
    vocabulary = load_vocabulary(tensors, "words")
    tensors["words_text"][0] = ord("x")
    assert [vocabulary.name(0), vocabulary.name(1)] == ["x", "bc"]


def test_a_loaded_vocabulary_keeps_its_arrays_alive():
    vocabulary = load_vocabulary(_tensors("größe".encode() * 10_000, [0, 70_000]), "words")
    assert vocabulary.find("größe" * 10_000) == 0


def test_a_loaded_vocabulary_that_grows_leaves_the_arrays_alone():
    tensors = _tensors(b"abc", [0, 1, 3])
    vocabulary = load_vocabulary(tensors, "words")
    assert vocabulary.encode_strings(["bc", "new"], grow=True).tolist() == [1, 2]
    assert tensors["words_text"].tobytes() == b"abc"


def test_offsets_may_lie_anywhere_in_a_file():
    pages = np.zeros(25, np.uint8)
    pages[1:] = np.array([0, 1, 3], np.uint64).view(np.uint8)
    tensors = {"words_text": np.frombuffer(b"abc", np.uint8), "words_offsets": pages[1:].view(np.uint64)}
    assert load_vocabulary(tensors, "words").find("bc") == 1


@pytest.mark.parametrize("text", [b"a\xff", "ä".encode()[:1], b"\xc3"])
def test_names_that_are_no_text_are_refused(text):
    with pytest.raises(ValueError):
        load_vocabulary(_tensors(text, [0, len(text)]), "words")


def test_names_that_are_cut_within_a_letter_are_refused():
    with pytest.raises(ValueError, match="within a letter"):
        load_vocabulary(_tensors("äb".encode(), [0, 1, 3]), "words")
