"""Features as users of python-crfsuite have them: nested, as sets, as bytes; and none that merges with another."""

import collections
import itertools
import subprocess
import sys

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom import InputError, SequenceTagger
from marginloom.common.vocabularies import vocabulary_tensors
from marginloom.features import NamedFeatures
from marginloom.io.crfsuite import read_corpus, write_crfsuite

NESTED = {
    "number": 1.5,
    "true": True,
    "false": False,
    "text": "value",
    "prefix": {"key": 2.0, "list": ["x", "y"], "deep": {"er": {"s"}}},
    "items": ["a", "b"],
    "set": {"c"},
}


def paths_of(token, path=()):
    """Return the names that lead to each feature, with the values, in plain Python."""
    if isinstance(token, dict):
        for name, value in token.items():
            yield from paths_of(value, (*path, name))
    elif isinstance(token, (list, tuple, set, frozenset)):
        yield from (((*path, name), 1.0) for name in token)
    elif isinstance(token, (str, bytes)):
        yield (*path, token), 1.0
    else:
        yield path, float(token)


def described(features, encoded, token=0):
    begin, end = encoded.tokens[token : token + 2].tolist()
    values = np.ones(encoded.features.size) if encoded.values is None else encoded.values
    return [(features.describe(encoded.features[i]), float(values[i])) for i in range(begin, end)]


def test_everything_that_python_crfsuite_takes_has_the_names_and_values_that_it_gives():
    for token in (NESTED, ["a", "b"], {"a", "b"}, {b"k": b"v"}, [b"x"], {"k": {b"x": 2}}):
        features = NamedFeatures()
        found = dict(described(features, features.fit([[token]])))
        (expected,) = pycrfsuite.ItemSequence([token]).items()
        assert found == pytest.approx({name: value for name, value in expected.items() if value})


def test_nested_features_are_shown_by_the_names_that_lead_to_them():
    features = NamedFeatures()
    assert sorted(described(features, features.fit([[NESTED]]))) == [
        ("items:a", 1.0),
        ("items:b", 1.0),
        ("number", 1.5),
        ("prefix:deep:er:s", 1.0),
        ("prefix:key", 2.0),
        ("prefix:list:x", 1.0),
        ("prefix:list:y", 1.0),
        ("set:c", 1.0),
        ("text:value", 1.0),
        ("true", 1.0),
    ]


@pytest.mark.parametrize(
    "tokens",
    [
        [{"a:b": 1}, {"a": "b"}],
        [{"a=b": 1}, {"a": "b"}],
        [{"a:b": "c"}, {"a": "b:c"}],
        [{"a": {"b:c": 1}}, {"a:b": {"c": 1}}, {"a": {"b": "c"}}],
        [["a"], {"a": ""}, {"": "a"}, {"a": {"": 1.0, "b": 1}}],
        [["a\x1fb"], {"a": "b"}, {"a": ["\x1fb"]}],
    ],
    ids=str,
)
def test_different_features_do_not_merge(tokens):
    different = {path for token in tokens for path, _ in paths_of(token)}
    assert NamedFeatures().fit([tokens]).feature_count == len(different)


names = st.text(alphabet="ab:=\x1f\xff", max_size=3)
nested = st.recursive(
    st.one_of(names, st.just(1), st.just(0.5)),
    lambda values: st.one_of(st.lists(names, max_size=3), st.sets(names, max_size=3), st.dictionaries(names, values)),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(names, nested), min_size=1, max_size=4))
def test_features_are_the_same_if_and_only_if_the_same_names_lead_to_them(tokens):
    encoded = NamedFeatures().fit([tokens])
    expected = [list(paths_of(token)) for token in tokens]
    assert encoded.feature_count == len({path for pairs in expected for path, _ in pairs})
    assert np.diff(encoded.tokens.astype(int)).tolist() == [len(pairs) for pairs in expected]
    numbers = iter(encoded.features.tolist())
    seen = collections.defaultdict(set)
    for token, pairs in zip(tokens, expected, strict=True):
        if any(isinstance(value, set) for value in _values(token)):
            for _ in pairs:
                next(numbers)
            continue
        for path, _ in pairs:
            seen[path].add(next(numbers))
    assert all(len(found) == 1 for found in seen.values())


def _values(token):
    for value in token.values() if isinstance(token, dict) else ():
        yield value
        yield from _values(value)


def test_one_feature_may_be_written_in_several_ways():
    features = NamedFeatures()
    tokens = [
        {"a": "b"},
        {"a": ["b"]},
        {"a": {"b"}},
        {"a": {"b": 1.0}},
        {"a": ("b",)},
        {b"a": b"b"},
        {"a": {"b": True}},
    ]
    encoded = features.fit([tokens])
    assert encoded.feature_count == 1
    assert encoded.features.tolist() == [0] * len(tokens)
    assert encoded.values is None


def test_other_mappings_and_sequences_are_taken_for_what_they_are():
    features = NamedFeatures()
    tokens = [
        collections.UserDict({"a": 2.0}),
        collections.OrderedDict(a=2.0),
        collections.UserList(["a", "a"]),
        np.array(["a", "a"], dtype=object),
    ]
    assert features.fit([tokens]).feature_count == 1
    assert [sum(value for _, value in described(features, features.fit([tokens]), i)) for i in range(4)] == [2.0] * 4


def test_a_set_gives_the_same_model_in_every_process():
    program = (
        "from marginloom import SequenceTagger;"
        "t = SequenceTagger(max_iter=3, tol=0.5).fit([[{'ab', 'cd', 'ef', 'gh'}, {'x': {'cd', 'ij'}}]], [['P', 'Q']]);"
        "print(t.model_.weights.tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("word", "it is a string, expected a list or set of feature strings or a dict"),
        (b"word", "it is a string"),
        (3, "must be a list or set of feature strings"),
        ([1], "the name of a feature is not a string"),
        ({1: 2.0}, "the name of a feature is not a string"),
        ({"a": None}, "feature 'a' is neither a number"),
        ({"a": {"b": None}}, "feature 'a:b' is neither a number"),
        ({"a": 10**400}, "feature 'a' is neither a number in double precision"),
        ([b"\xff"], "no text in UTF-8"),
        ({"a": b"\xfe"}, "no text in UTF-8"),
        ({"a": [["b"]]}, "the name of a feature is not a string"),
        ({"a": float("nan")}, "NaN or infinite"),
    ],
    ids=str,
)
def test_what_is_no_feature_is_refused_with_its_place(token, said):
    with pytest.raises(InputError, match="X: sentence 1, token 1: ") as raised:
        NamedFeatures().fit([[["a"]], [["a"], token]])
    assert said in str(raised.value)


def test_a_dict_that_holds_itself_is_refused():
    token = {}
    token["a"] = token
    with pytest.raises(InputError, match="nested more than 100 deep"):
        NamedFeatures().fit([[token]])


def test_models_of_before_predict_as_they_did(tmp_path):
    former = NamedFeatures()
    former._vocabulary.encode_strings(["w=dog", "b"], grow=True)
    tensors = vocabulary_tensors(former._vocabulary, "features")
    loaded = NamedFeatures.load(tensors)
    assert loaded.kind == "named"
    assert set(loaded.tensors()) == set(tensors)
    assert loaded.transform([[{"w": "dog", "b": 2}, ["w=dog"]]]).features.tolist() == [0, 1, 0]


def test_a_model_of_nested_features_is_the_same_after_saving(tmp_path):
    X = [[{"w": "dog", "n": {"x": 0.5}}, {"w:dog": 1.0, "n": ["x"]}]]
    tagger = SequenceTagger(C=1.0).fit(X, [["P", "Q"]])
    tagger.save(tmp_path / "model")
    loaded = SequenceTagger.load(tmp_path / "model")
    assert loaded.features == "auto"
    assert loaded.predict(X) == [["P", "Q"]]
    names = [loaded.model_.features.describe(i) for i in range(3)]
    assert sorted(names) == ["n:x", "w:dog", "w:dog"]


def test_files_and_dicts_with_the_same_features_go_together(tmp_path):
    X = [[{"w": word, "s": {"2": word[-2:]}} for word in sentence] for sentence in (["the", "dog"], ["a", "cat"])]
    y = [["D", "N"], ["D", "N"]]
    write_crfsuite(tmp_path / "x.crfsuite", X, y)
    corpus = read_corpus([tmp_path / "x.crfsuite"])
    for source, other in itertools.permutations((X, corpus)):
        features = NamedFeatures()
        trained, again = features.fit(source), features.transform(other)
        assert trained.features.tolist() == again.features.tolist()


def test_features_that_a_file_cannot_tell_apart_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"\('a', 'b'\) and \('a:b',\) would both be called 'a:b'"):
        write_crfsuite(tmp_path / "x.crfsuite", [[{"a": "b"}, ["a:b"]]], [["P", "Q"]])
    write_crfsuite(tmp_path / "x.crfsuite", [[["a:b"]]], [["P"]])
    features = NamedFeatures()
    features.fit([[{"a": "b"}, ["a:b"]]])
    with pytest.raises(InputError, match="two different features are called 'a:b'"):
        features.transform(read_corpus([tmp_path / "x.crfsuite"]))
