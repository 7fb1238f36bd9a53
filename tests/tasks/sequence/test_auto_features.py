"""What a tagger makes of X when it is not told."""

import numpy as np
import pytest

from marginloom import InputError, InputWarning, SequenceTagger

WORDS = [["the", "dog", "barks"], ["a", "cat"]]
Y = [["D", "N", "V"], ["D", "N"]]


def test_words_get_the_feature_set_rich():
    auto, named = SequenceTagger().fit(WORDS, Y), SequenceTagger(features="rich").fit(WORDS, Y)
    assert auto.features == "auto"
    np.testing.assert_array_equal(auto.model_.weights, named.model_.weights)
    assert auto.model_.features.name == "rich"


@pytest.mark.parametrize("token", [list, tuple, set, frozenset, lambda pair: dict.fromkeys(pair, 0.5)])
def test_everything_else_is_ready_features(token):
    X = [[token((f"w={word}", "bias")) for word in sentence] for sentence in WORDS]
    auto, ready = SequenceTagger().fit(X, Y), SequenceTagger(features=None).fit(X, Y)
    assert auto.model_.features.name == "named"
    np.testing.assert_array_equal(auto.model_.weights, ready.model_.weights)


def test_matrices_are_ready_features():
    X = [np.eye(3), np.eye(3)[:2]]
    assert SequenceTagger().fit(X, Y).model_.features.name == "matrix"
    flat = [label for labels in Y for label in labels]
    assert SequenceTagger().fit(np.vstack(X), flat, lengths=[3, 2]).model_.features.name == "matrix"


def test_empty_sentences_do_not_decide():
    assert SequenceTagger().fit([[], *WORDS], [[], *Y]).model_.features.name == "rich"


@pytest.mark.parametrize("sentence", ["the dog", b"the dog"])
def test_a_sentence_that_is_one_string_is_an_error_that_says_so(sentence):
    with pytest.raises(InputError, match=r"sentence 0 is a string, .*the dog.*, and must be a list of tokens"):
        SequenceTagger().fit([sentence], [list("DNVDNVD")])


@pytest.mark.parametrize("features", ["auto", None])
def test_ready_features_may_come_as_a_stream(features):
    X = [[[f"w={word}"] for word in sentence] for sentence in WORDS]
    streamed = SequenceTagger(features=features).fit(iter(X), iter(Y))
    np.testing.assert_array_equal(streamed.model_.weights, SequenceTagger().fit(X, Y).model_.weights)


def test_words_may_come_as_a_stream():
    streamed = SequenceTagger().fit(iter(WORDS), Y)
    np.testing.assert_array_equal(streamed.model_.weights, SequenceTagger().fit(WORDS, Y).model_.weights)


def test_without_features_words_are_an_error_that_says_what_to_do():
    with pytest.raises(InputError, match=r"sentence 0, token 0: it is a string.*features='tagging'"):
        SequenceTagger(features=None).fit(WORDS, Y)


@pytest.mark.parametrize(
    "options", [{"hash_bits": 8}, {"pos_column": 2}, {"clusters": "f"}, {"gazetteers": {"n": "f"}}], ids=str
)
@pytest.mark.parametrize("X", [[[["a"]]], [np.eye(1)]], ids=["named", "matrix"])
def test_options_of_extraction_are_refused_with_ready_features(X, options):
    with pytest.raises(InputError, match=f"{next(iter(options))} is for features that are extracted"):
        SequenceTagger(**options).fit(X, [["P"]])


def test_min_count_is_refused_where_nothing_is_counted():
    with pytest.raises(InputError, match="min_count is for features that are extracted"):
        SequenceTagger(min_count=2).fit([np.eye(2)], [["P", "Q"]])
    with pytest.raises(InputError, match="no feature is counted, so min_count cannot be 2"):
        SequenceTagger(min_count=2, hash_bits=8).fit(WORDS, Y)


@pytest.mark.parametrize("X", [WORDS, [[[word] for word in sentence] for sentence in WORDS]], ids=["words", "ready"])
def test_a_min_count_that_leaves_nothing_is_refused_with_the_number(X):
    with pytest.raises(InputError, match="min_count 50 leaves no feature"):
        SequenceTagger(min_count=50).fit(X, Y)


def test_labels_that_are_nearly_all_different_are_warned_about():
    count = 1500
    X, labels = [["w"]] * count, [[f"label{i // 1.4:.0f}"] for i in range(count)]
    with pytest.warns(InputWarning, match=r"1,500 tokens have 1,\d\d\d different labels, such as 'label0'"):
        SequenceTagger("perceptron", max_iter=1, features="words").fit(X, labels)
