"""Every kind of input that `SequenceTagger` takes, and what it says about the others."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from support.pairs import with_effect

from marginloom import InputError, SequenceTagger, make_tagging

WORDS, TAGS = make_tagging(30, seed=0)
NAMES = sorted({word for sentence in WORDS for word in sentence})
COLUMN = {name: number for number, name in enumerate(NAMES)}
LENGTHS = [len(sentence) for sentence in WORDS]
FLAT_TAGS = [tag for sentence in TAGS for tag in sentence]


def nested(flat, lengths=LENGTHS):
    bounds = np.cumsum([0, *lengths])
    return [list(flat[a:b]) for a, b in pairwise(bounds)]


def one_hot(words):
    rows = np.zeros((sum(map(len, words)), len(NAMES)), dtype=np.float32)
    for row, word in enumerate(word for sentence in words for word in sentence):
        rows[row, COLUMN[word]] = 1
    return rows


@pytest.fixture(scope="module")
def expected():
    return SequenceTagger(features="words").fit(WORDS, TAGS)


def agrees(tagger, expected):
    """Features are numbered differently, but the problem is the same, so its optimum is."""
    certificate, other = tagger.certificate_, expected.certificate_
    return certificate.dual <= other.primal and other.dual <= certificate.primal


INDICATORS = {
    "lists": [[[word] for word in sentence] for sentence in WORDS],
    "tuples": [tuple((word,) for word in sentence) for sentence in WORDS],
    "dict of numbers": [[{word: 1.0} for word in sentence] for sentence in WORDS],
    "dict of integers": [[{word: 1} for word in sentence] for sentence in WORDS],
    "dict of bools": [[{word: True, "never": False} for word in sentence] for sentence in WORDS],
    "dict of strings": [[{"word": word} for word in sentence] for sentence in WORDS],
    "dict of numpy numbers": [[{word: np.float32(1)} for word in sentence] for sentence in WORDS],
    "object array": np.array([[[word] for word in sentence] for sentence in WORDS], dtype=object),
}


@pytest.mark.parametrize("kind", INDICATORS)
def test_named_indicators_are_the_same_problem_as_words(expected, kind):
    tagger = SequenceTagger().fit(INDICATORS[kind], TAGS)
    assert np.array_equal(tagger.tagger_.weights, expected.tagger_.weights)
    assert tagger.predict(INDICATORS[kind]) == expected.predict(WORDS)


def test_rows_of_columns_have_the_word_first(expected):
    rows = [[(word, "another column") for word in sentence] for sentence in WORDS]
    tagger = SequenceTagger(features="words").fit(rows, TAGS)
    assert np.array_equal(tagger.tagger_.weights, expected.tagger_.weights)
    assert tagger.predict(rows) == expected.predict(WORDS)


def test_named_feature_values_count():
    X = [[{"a": 2.0, "b": -0.5}, {"c": "x", "d": True}], [{"b": 3}]]
    tagger = SequenceTagger(C=1.0).fit(X, [["P", "Q"], ["Q"]])
    assert tagger.tagger_.feature_count == 4
    entries = tagger.tagger_.strongest(1000)
    assert {"a", "b", "c:x", "d"} <= {entry["feature"] for entry in entries}
    assert tagger.predict(X) == [["P", "Q"], ["Q"]]
    opposite = [[{"a": -2.0, "b": 0.5}]]
    assert tagger.predict(opposite) != [["P"]]


def test_unknown_features_are_left_out(expected):
    assert len(expected.predict([["never-seen", "the"]])[0]) == 2
    tagger = SequenceTagger(C=1.0).fit([[["a"], ["b"]]], [["P", "Q"]])
    assert tagger.predict([[["a", "zzz"], ["b"], ["zzz"], []]])[0][:2] == ["P", "Q"]


def test_min_count_leaves_rare_features_out():
    X = [[["rare", "often"], ["often"]], [["often"]]]
    tagger = SequenceTagger(min_count=2).fit(X, [["P", "Q"], ["Q"]])
    assert tagger.tagger_.feature_count == 1
    assert {e["feature"] for e in tagger.tagger_.strongest(100)} <= {"often", "after P", "after Q"}


MATRICES = {
    "dense": (one_hot(WORDS), LENGTHS),
    "dense float64": (one_hot(WORDS).astype(float), np.array(LENGTHS)),
    "dense integers": (one_hot(WORDS).astype(int), LENGTHS),
    "fortran order": (np.asfortranarray(one_hot(WORDS)), LENGTHS),
    "list of lists": (one_hot(WORDS).tolist(), LENGTHS),
    "csr matrix": (sparse.csr_matrix(one_hot(WORDS)), LENGTHS),
    "csr array": (sparse.csr_array(one_hot(WORDS)), LENGTHS),
    "csr bool": (sparse.csr_matrix(one_hot(WORDS) > 0), LENGTHS),
    "csc": (sparse.csc_matrix(one_hot(WORDS)), LENGTHS),
    "coo": (sparse.coo_array(one_hot(WORDS)), LENGTHS),
    "csr with values": (sparse.csr_matrix(one_hot(WORDS) * 0.5) * 2, LENGTHS),
}


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_with_lengths_are_the_same_problem_as_words(expected, kind):
    X, lengths = MATRICES[kind]
    tagger = SequenceTagger().fit(X, FLAT_TAGS, lengths=lengths)
    assert agrees(tagger, expected)
    predicted = tagger.predict(X, lengths=lengths)
    assert isinstance(predicted, np.ndarray)
    assert predicted.shape == (sum(LENGTHS),)
    assert tagger.score(X, FLAT_TAGS, lengths) > 0.9
    assert tagger.score(X, FLAT_TAGS, lengths) == np.mean(predicted == np.array(FLAT_TAGS, dtype=object))


def test_sparse_and_dense_rows_give_the_same_predictions():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.5), 2)
    y = rng.integers(0, 3, 200)
    lengths = [20] * 10
    dense = SequenceTagger(tol=1e-4, max_iter=5000).fit(X, y, lengths=lengths)
    for make in (sparse.csr_matrix, sparse.csr_array):
        other = SequenceTagger(tol=1e-4, max_iter=5000).fit(make(X), y, lengths=lengths)
        assert np.allclose(dense.tagger_.weights, other.tagger_.weights, atol=0.02)
        assert np.array_equal(dense.predict(make(X), lengths), dense.predict(X, lengths))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csr_array], ids=["dense", "csr", "csr array"])
def test_list_of_matrices(make):
    X = one_hot(WORDS)
    parts = [make(X[a:b]) for a, b in zip(np.cumsum([0, *LENGTHS[:-1]]), np.cumsum(LENGTHS), strict=True)]
    stacked = SequenceTagger().fit(make(X), FLAT_TAGS, lengths=LENGTHS)
    tagger = SequenceTagger().fit(parts, TAGS)
    assert np.array_equal(tagger.tagger_.weights, stacked.tagger_.weights)
    assert tagger.predict(parts) == nested(stacked.predict(make(X), lengths=LENGTHS))


def test_dense_and_sparse_sentences_may_be_mixed():
    dense, thin = np.eye(2), sparse.csr_matrix(np.eye(2))
    for parts in ([dense, thin], [thin, dense]):
        tagger = SequenceTagger(C=10).fit(parts, [["P", "Q"], ["P", "Q"]])
        assert tagger.predict(parts) == [["P", "Q"], ["P", "Q"]]


@pytest.mark.parametrize(
    "damage", ["unsorted", "duplicates", "zeros"], ids=["unsorted indices", "duplicate entries", "stored zeros"]
)
def test_sparse_input_is_not_changed(damage):
    """And entries that occur twice are added up."""
    indices, data = {
        "unsorted": ([2, 0, 1], [1.0, 2.0, 3.0]),
        "duplicates": ([1, 1, 0], [1.0, 2.0, 3.0]),
        "zeros": ([0, 1, 2], [0.0, 2.0, 3.0]),
    }[damage]
    X = sparse.csr_matrix((np.array(data), np.array(indices), [0, 2, 3]), shape=(2, 3))
    before = (X.indptr.copy(), X.indices.copy(), X.data.copy())
    tagger = SequenceTagger().fit(X, ["P", "Q"], lengths=[2])
    assert np.array_equal(tagger.predict(X, lengths=[2]), tagger.predict(np.asarray(X.todense()), lengths=[2]))
    for was, now in zip(before, (X.indptr, X.indices, X.data), strict=True):
        assert np.array_equal(was, now)


def test_read_only_input():
    """Workers of joblib get arrays that they may not write to."""
    X = sparse.csr_matrix((np.ones(3), np.array([1, 1, 0]), [0, 2, 3]), shape=(2, 2))
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    dense = np.eye(2)
    dense.flags.writeable = False
    SequenceTagger().fit(X, ["P", "Q"], lengths=[2]).predict(X, lengths=[2])
    SequenceTagger().fit(dense, ["P", "Q"], lengths=[2]).predict(dense, lengths=[2])


@pytest.mark.parametrize(
    "labels",
    [[7, -3, 7], ["b", "a", "b"], np.array([7, -3, 7], dtype=np.int16), np.array(["b", "a", "b"])],
    ids=["int", "str", "int array", "str array"],
)
def test_labels_come_back_as_they_were(labels):
    X = np.eye(3)
    tagger = SequenceTagger(C=10).fit(X, labels, lengths=[2, 1])
    assert tagger.classes_ == sorted(set(np.asarray(labels).tolist()))
    assert tagger.predict(X, lengths=[2, 1]).tolist() == list(labels)
    parts = [X[:2], X[2:]]
    tagger = SequenceTagger(C=10).fit(parts, [labels[:2], labels[2:]])
    assert tagger.predict(parts) == [list(labels[:2]), list(labels[2:])]
    assert all(type(label) in (int, str) for sentence in tagger.predict(parts) for label in sentence)


def test_unseen_labels_count_as_errors():
    for y, unseen in ((["a", "b"], "c"), ([1, 2], 3), ([1, 2], 0)):
        tagger = SequenceTagger(C=10).fit(np.eye(2), y, lengths=[2])
        assert tagger.score(np.eye(2), [y[0], unseen], [2]) == 0.5


def test_unicode_words_and_labels():
    X, y = [["naïve", "日本", "🙂", ""]], [["é", "ß", "Ж", "🙂"]]
    tagger = SequenceTagger(features="words", C=10).fit(X, y)
    assert tagger.predict(X) == y


def test_more_labels_than_a_byte_holds():
    X = [[[f"w{k}"]] for k in range(300)]
    y = [[k] for k in range(300)]
    tagger = SequenceTagger("perceptron", max_iter=30).fit(X, y)
    assert tagger.predict(X) == y
    stateful = SequenceTagger(C=1.0, max_iter=2, warm_start=True).fit(X, y)
    assert stateful.fit(X, y).n_iter_ > 0


def test_sentences_of_one_token():
    X, y = [["a"], ["b"], ["a"]], [["P"], ["Q"], ["P"]]
    for start_end in (False, True):
        tagger = SequenceTagger(features="words", C=1.0, start_end=start_end).fit(X, y)
        assert tagger.predict(X) == y
        assert tagger.certificate_.gap <= 0.01


@pytest.mark.parametrize("start_end", [False, True])
@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_empty_sentences_change_nothing(algorithm, start_end):
    X, y = [[], ["a", "b"], [], ["b"], []], [[], ["P", "Q"], [], ["Q"], []]
    options = with_effect(algorithm, {"features": "words", "C": 1.0, "start_end": start_end})
    tagger = SequenceTagger(algorithm, engine={"shuffle": False}, **options).fit(X, y)
    without = SequenceTagger(algorithm, engine={"shuffle": False}, **options).fit([X[1], X[3]], [y[1], y[3]])
    if algorithm == "dcd-ssvm":  # updates are shuffled too
        assert np.allclose(tagger.tagger_.weights, without.tagger_.weights, atol=0.2)
    assert tagger.predict(X) == y
    assert tagger.score(X, y) == 1
    assert tagger.predict([[]]) == [[]]
    assert tagger.predict([]) == []


def test_empty_sentences_of_every_kind():
    named = SequenceTagger().fit([[], [["a"]]], [[], ["P"]])
    assert named.predict([[], []]) == [[], []]
    for make in (np.asarray, sparse.csr_matrix):
        empty = make(np.zeros((0, 2)))
        tagger = SequenceTagger(start_end=True).fit([empty, make(np.eye(2))], [[], ["P", "Q"]])
        assert tagger.predict([empty, empty]) == [[], []]
        assert tagger.predict([]) == []
        assert tagger.predict(make(np.eye(2)), lengths=[0, 2, 0]).shape == (2,)
        assert tagger.predict(empty, lengths=[0, 0]).shape == (0,)
        assert tagger.predict(empty, lengths=[]).shape == (0,)


def test_a_sentence_of_five_thousand_tokens():
    words, tags = make_tagging(500, seed=3)
    long = [word for sentence in words for word in sentence][:5000]
    labels = [tag for sentence in tags for tag in sentence][:5000]
    assert len(long) == 5000
    tagger = SequenceTagger(features="words", max_iter=20).fit([long, *WORDS], [labels, *TAGS])
    assert tagger.certificate_.dual <= tagger.certificate_.primal
    predicted = tagger.predict([long])[0]
    assert np.mean([a == b for a, b in zip(predicted, labels, strict=True)]) > 0.75


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (WORDS, TAGS[:-1], "X has 30 sentences, and y has 29"),
        (WORDS, [*TAGS[:-1], TAGS[-1][1:]], "sentence 29 has"),
        (WORDS, [["X"] * 3, *TAGS[1:]], "sentence 0 has"),
        ([["a", "b"]], ["PQ"], r"y\[0\] must be a list of labels"),
        (["ab"], [["P", "Q"]], "sentence 0 is a string, 'ab', and must be a list"),
        ("ab", [["P"], ["Q"]], "X must be a list of sentences"),
        (None, [["P"]], "X must be a list of sentences"),
        ([["a", 5]], [["P", "Q"]], "sentence 0"),
        ([["a"]], None, "y"),
        ([["a"]], [None], r"y\[0\]"),
        ([["a"]], [5], r"y\[0\]"),
        ([5], [["P"]], "sentence 0"),
        ([["a", "b"]], [["P", 1]], "labels must be all strings or all whole numbers"),
        ([["a", "b"]], [[1, "P"]], "labels must be all strings or all whole numbers"),
        ([["a", "b"]], [[1.5, 2]], "labels must be all strings or all whole numbers"),
        ([["a", "b"]], [["P", None]], "labels must be all strings or all whole numbers"),
        ([], [], "no token"),
        ([[]], [[]], "no token"),
        ([["\ud800"]], [["P"]], "sentence 0|surrogate"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_words_and_labels_that_do_not_fit(X, y, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger(features="words").fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "lengths", "message"),
    [
        (np.eye(3), ["P"] * 3, [2], "lengths add up to 2, and X has 3 rows"),
        (np.eye(3), ["P"] * 3, [4, -1], "lengths must be"),
        (np.eye(3), ["P"] * 3, [1.5, 1.5], "lengths must be"),
        (np.eye(3), ["P"] * 3, [[3]], "lengths must be"),
        (np.eye(3), ["P"] * 2, [3], "2 labels for 3 tokens"),
        (sparse.csr_matrix(np.eye(3)), ["P"] * 4, [3], "4 labels for 3 tokens"),
        (np.zeros(3), ["P"] * 3, [3], "two dimensions"),
        (np.array([["x", "y"]]), ["P"], [1], "numbers"),
        (np.eye(3), ["P"] * 3, None, "lengths="),
        (sparse.csr_matrix(np.eye(3)), ["P"] * 3, None, "lengths="),
        ([np.eye(2), np.eye(3)], [["P"] * 2, ["P"] * 3], None, "same number of columns"),
        ([np.eye(2), [["a"], ["b"]]], [["P"] * 2, ["P"] * 2], None, "sentence 1|matri"),
    ],
)
def test_matrices_and_lengths_that_do_not_fit(X, y, lengths, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger().fit(X, y, lengths=lengths)


def test_input_of_another_kind_than_in_training():
    matrix = SequenceTagger().fit(np.eye(2), ["P", "Q"], lengths=[2])
    named = SequenceTagger().fit([[["a"], ["b"]]], [["P", "Q"]])
    words = SequenceTagger(features="words").fit([["a", "b"]], [["P", "Q"]])
    uses = [
        lambda: matrix.predict(np.eye(3), lengths=[3]),
        lambda: matrix.predict([[["a"]]]),
        lambda: matrix.predict([["a"]]),
        lambda: named.predict(np.eye(2), lengths=[2]),
        lambda: named.predict(sparse.csr_matrix(np.eye(2)), lengths=[2]),
        lambda: named.predict([np.eye(2)]),
        lambda: named.predict([["a"]]),
        lambda: named.predict([None]),
        lambda: words.predict(np.eye(2), lengths=[2]),
        lambda: words.predict([None]),
        lambda: words.score([["a"]], [[1]]),
    ]
    for use in uses:
        with pytest.raises(InputError):
            use()


def as_strings(words):
    return [[[f"w={word}", f"s={word[-2:]}"] for word in sentence] for sentence in words]


def test_stream_of_sentences_gives_the_same_model_as_a_list():
    whole = SequenceTagger(max_iter=3).fit(as_strings(WORDS), TAGS)
    stream = SequenceTagger(max_iter=3).fit(iter(as_strings(WORDS)), iter(TAGS))
    assert stream.tagger_.weights.tobytes() == whole.tagger_.weights.tobytes()
    assert stream.predict(as_strings(WORDS)) == whole.predict(as_strings(WORDS))


@pytest.mark.parametrize(
    ("sentences", "labels", "said"),
    [
        (3, 2, "X has more sentences than y, which has 2"),
        (2, 3, "y has more sentences than X"),
    ],
)
def test_streams_of_different_length_are_refused(sentences, labels, said):
    with pytest.raises(InputError, match=said):
        SequenceTagger().fit(iter(as_strings(WORDS)[:sentences]), iter(TAGS[:labels]))


def test_stream_whose_sentence_has_too_few_labels_is_refused():
    with pytest.raises(InputError, match=r"sentence 1 has \d+ tokens and 1 labels"):
        SequenceTagger().fit(iter(as_strings(WORDS)[:2]), iter([TAGS[0], TAGS[1][:1]]))


def test_a_path_as_features_is_saved_as_its_name(tmp_path):
    (tmp_path / "templates.txt").write_text("word[0]\n")
    tagger = SequenceTagger(features=tmp_path / "templates.txt", max_iter=1, tol=0.9).fit([["a", "b"]], [["X", "Y"]])
    tagger.save(tmp_path / "model")
    assert SequenceTagger.load(tmp_path / "model").features == str(tmp_path / "templates.txt")


def test_start_end_that_is_no_switch_is_refused():
    with pytest.raises(InputError, match="start_end must be true or false, not 'no'"):
        SequenceTagger(start_end="no").fit([["a"]], [["X"]])
