"""Extraction by templates against plain Python."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginloom import InputError, SequenceTagger, make_tagging
from marginloom.features import ExtractedFeatures, Lists
from marginloom.features.sets import FEATURE_SETS
from marginloom.io.conll import parse

TEMPLATES = """
bias
word[0]  # the word
lower[-1]
prefix[0,2]
suffix[1,3]
shape[0]
shortshape[0]
column[0,2]
word[-1] suffix[0,1]
word[0] column[-1,2] word[2]
"""


def shape(word, short):
    text = "".join(
        "X" if c.isupper() else "d" if c in "0123456789" else "x" if c.isalpha() or ord(c) > 127 else c for c in word
    )
    return re.sub(r"(.)\1+", r"\1", text) if short else text


def value(atom, rows, t):
    name, offset, argument = re.fullmatch(r"(\w+)(?:\[([+-]?\d+)(?:,(\d+))?\])?", atom).groups()
    if name == "bias":
        return ""
    place, size = t + int(offset), int(argument or 0)
    if not 0 <= place < len(rows):
        return "<s>" if place < 0 else "</s>"
    word = rows[place][0]
    if name in ("prefix", "suffix"):
        return None if len(word) < size else word[:size] if name == "prefix" else word[-size:]
    return {
        "word": lambda: word,
        "lower": word.lower,
        "shape": lambda: shape(word, False),
        "shortshape": lambda: shape(word, True),
        "column": lambda: rows[place][size - 1],
    }[name]()


def expected(templates, rows, t):
    found = set()
    for line in templates.splitlines():
        atoms = line.split("#")[0].split()
        values = [value(atom, rows, t) for atom in atoms]
        if atoms and None not in values:
            found.add(" ".join(atoms) if atoms == ["bias"] else f"{' '.join(atoms)}={' '.join(values)}")
    return found


LETTERS = "abzAZ09.-'ñÑéÉßžŽДдЯяΩω漢"
words = st.text(alphabet=LETTERS, min_size=1, max_size=6)
corpora = st.lists(
    st.lists(st.tuples(words, st.sampled_from(["P", "Q"])), min_size=1, max_size=5), min_size=1, max_size=6
)


def described(features, encoded):
    tokens = encoded.tokens.astype(int)
    return [
        {features.describe(int(f)) for f in encoded.features[start:end]} for start, end in itertools.pairwise(tokens)
    ]


@pytest.fixture(scope="module")
def template_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("templates") / "own.txt"
    path.write_text(TEMPLATES)
    return str(path)


@given(corpus=corpora, threads=st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_extraction_equals_plain_python(template_file, corpus, threads):
    features = ExtractedFeatures(template_file, n_threads=threads)
    encoded = features.fit(corpus)
    assert encoded.sentences.tolist() == np.cumsum([0, *map(len, corpus)]).tolist()
    assert described(features, encoded) == [expected(TEMPLATES, rows, t) for rows in corpus for t in range(len(rows))]


def test_number_of_threads_and_source_do_not_change_anything():
    X, y = make_tagging(300)
    text = "".join("".join(f"{w}\t{t}\n" for w, t in zip(a, b, strict=True)) + "\n" for a, b in zip(X, y, strict=True))
    table = parse(text.encode(), "conll", "t")
    results = []
    for source, threads in ((X, 1), (X, 4), (table, 1), (table, 3)):
        features = ExtractedFeatures("tagging", n_threads=threads)
        fitted, again = features.fit(source), features.transform(source)
        assert fitted.features.tolist() == again.features.tolist()
        assert fitted.tokens.tolist() == again.tokens.tolist()
        results.append((fitted.features.tobytes(), features.tensors()["features_text"].tobytes()))
    assert len(set(results)) == 1


def test_unknown_features_are_left_out_and_rare_ones_too():
    features = ExtractedFeatures("words", min_count=2)
    assert features.fit([["a", "b", "a"]]).tokens.tolist() == [0, 1, 1, 2]
    assert features.transform([["b", "c", "a"]]).tokens.tolist() == [0, 0, 0, 1]
    assert features.feature_count == 1


def test_hashed_features_need_no_vocabulary():
    features = ExtractedFeatures("tagging", hash_bits=12)
    X, y = make_tagging(200)
    encoded = features.fit(X)
    assert encoded.feature_count == 4096
    assert encoded.features.max() < 4096
    assert len(set(encoded.features.tolist())) > 1500
    assert features.transform(X).features.tolist() == encoded.features.tolist()
    assert SequenceTagger(features="tagging", hash_bits=12).fit(X, y).score(X, y) > 0.97


def test_named_sets_read_the_part_of_speech_only_if_it_is_named():
    rows = [[("the", "DT"), ("dog", "NN")]]
    for name in FEATURE_SETS:
        without = ExtractedFeatures(name)
        names = {without.describe(f) for f in range(without.fit(rows).feature_count)}
        assert not any("DT" in feature for feature in names)
    features = ExtractedFeatures("chunking", pos_column=2)
    names = {features.describe(f) for f in range(features.fit(rows).feature_count)}
    assert "pos[-1] pos[0]=DT NN" in names


def test_gazetteers_and_clusters(tmp_path):
    (tmp_path / "places").write_text("New York\nYork\nSan Francisco Bay\n\n")
    (tmp_path / "paths").write_text("0010\tYork\t5\n11\tin\t9\n")
    (tmp_path / "t").write_text("gazetteer[0]\ngazetteer[1] word[0]\ncluster[0,2]\n")
    lists = Lists.read(tmp_path / "paths", {"PLACE": tmp_path / "places"})
    features = ExtractedFeatures(str(tmp_path / "t"), lists=lists)
    sentence = ["in", "New", "York", "and", "York", "San", "Francisco"]
    found = described(features, features.fit([sentence]))
    assert found == [
        {"gazetteer[1] word[0]=PLACE-B in", "cluster[0,2]=11"},
        {"gazetteer[0]=PLACE-B", "gazetteer[1] word[0]=PLACE-I New"},
        {"gazetteer[0]=PLACE-I", "cluster[0,2]=00"},
        {"gazetteer[1] word[0]=PLACE-B and"},
        {"gazetteer[0]=PLACE-B", "cluster[0,2]=00"},
        set(),
        set(),
    ]


def test_everything_that_extraction_needs_is_in_the_model(tmp_path):
    X, y = make_tagging(150)
    (tmp_path / "g").write_text("\n".join(word for sentence in X[:5] for word in sentence))
    (tmp_path / "c").write_text(
        "".join(f"0{i:b}\t{word}\t1\n" for i, word in enumerate(dict.fromkeys(itertools.chain(*X[:9]))))
    )
    tagger = SequenceTagger(features="ner", gazetteers={"G": tmp_path / "g"}, clusters=tmp_path / "c").fit(X, y)
    before = tagger.predict(X)
    tagger.save(tmp_path / "m")
    (tmp_path / "g").unlink()
    (tmp_path / "c").unlink()
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.predict(X) == before
    assert loaded.tagger_.weights.tobytes() == tagger.tagger_.weights.tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word[0]\nwurd[0]", r"line 2: found 'wurd\[0\]', expected one of bias, word"),
        ("word", r"line 1: found 'word', expected something like word\[-1\]"),
        ("word[x]", "expected something like"),
        ("word[0,2]", "expected something like"),
        ("prefix[0]", r"expected something like prefix\[-1,3\]"),
        ("prefix[0,0]", "expected something like"),
        ("bias[0]", "without brackets"),
        ("word[0]\n\nword[0]", "line 3.*every template once"),
        ("# nothing\n", "found no template"),
        ("pos[0]", "needs a column with parts of speech"),
        ("gazetteer[0] gazetteer[1]", "at most one gazetteer"),
        ("word[99999999999]", "expected something like"),
    ],
)
def test_templates_that_are_wrong_are_named(tmp_path, text, message):
    (tmp_path / "t").write_text(text)
    with pytest.raises(InputError, match=message):
        ExtractedFeatures(str(tmp_path / "t"))


def test_a_column_that_is_not_there_is_named(tmp_path):
    (tmp_path / "t").write_text("column[0,3]")
    told = r"found 2 columns, expected a column 3 among them \(the template 'column\[0,3\]' of .*, line 1 reads it\)"
    with pytest.raises(InputError, match=told):
        ExtractedFeatures(str(tmp_path / "t")).fit([[("a", "b")]])
    with pytest.raises(InputError, match="sentence 0: a token must be a word or a row of 2 columns"):
        ExtractedFeatures("words").fit([[("a", "b"), ("c",)]])


@pytest.mark.parametrize(("content", "line"), [("0a\tword\t1\n", 1), ("01\tw\t1\n01 word\n", 2), ("01\n", 1)])
def test_cluster_files_that_are_wrong_are_named(tmp_path, content, line):
    (tmp_path / "c").write_text(content)
    with pytest.raises(InputError, match=f"c, line {line}: found"):
        Lists.read(tmp_path / "c")
