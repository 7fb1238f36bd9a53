"""Features of arcs by templates: what the language allows, what it says of the rest, and how features are numbered."""

import collections
import itertools

import numpy as np
import pytest
from support.treebanks import TEMPLATES, TinyTrees, features_of

from marginloom import DependencyParser, InputError, InputWarning
from marginloom.features import Lists
from marginloom.tasks.parse.datasets import make_treebank
from marginloom.tasks.parse.feature_sets import FEATURE_SETS
from marginloom.tasks.parse.features import ArcFeatureSet, fitting_bits
from marginloom.tasks.parse.gold import FittingTrees

X = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("it", "PRON"), ("barks", "VERB")]]
HEADS = [[2, 3, 0], [2, 0]]
LABELLED = [[(2, "det"), (3, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root")]]


def fitted(features, sentences=X, trees=HEADS, labels=0):
    heads = np.array(list(itertools.chain(*trees)), dtype=np.int64)
    features.fit(sentences, FittingTrees(heads, None, None), labels)
    return features


def described(features, kind=0):
    return [features.describe(kind, k) for k in range(list(features.counts.values())[kind])]


@pytest.fixture
def templates(tmp_path):
    def write(text):
        (tmp_path / "templates.txt").write_text(text)
        return str(tmp_path / "templates.txt")

    return write


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pos[h]\nwurd[m]", r"templates\.txt, line 2: found 'wurd\[m\]', expected one of bias, word, .*, label"),
        ("word", r"line 1: found 'word', expected something like word\[m-1\]"),
        ("word[0]", r"line 1: found 'word\[0\]', expected something like word\[m-1\]"),
        ("word[x]", r"line 1: found 'word\[x\]', expected something like"),
        ("word[h", r"line 1: found 'word\[h', expected something like"),
        ("word[h+]", "expected something like"),
        ("word[h1]", "expected something like"),
        ("word[m+99999999999]", "expected something like"),
        ("prefix[m]", r"expected something like prefix\[m-1,3\]"),
        ("prefix[m,0]", "expected something like"),
        ("pos[h]\n# fine\n\npos[b+1]", r"line 4: found 'pos\[b\+1\]', expected something like"),
        ("pos[b] word[b]", "line 1.*at most one atom at b on a line"),
        ("pos[b] pos[s]", "line 1.*only one of b, s and label on a line"),
        ("label pos[s]", "line 1.*only one of b, s and label on a line"),
        ("label pos[b]", "line 1.*only one of b, s and label on a line"),
        ("direction[h]", "direction without brackets"),
        ("label[h]", "label without brackets"),
        ("pos[g] pos[m]", "line 1.*label on the same line, since g, p, n, f and l are places of a tree that is known"),
        ("feats.[m]", r"line 1.*the name of a value in FEATS, such as feats.Case\[m-1\]"),
        ("feats[m,2]", r"line 1.*something like feats\[m-1\]"),
        ("pos[m]\n\npos[m]", "line 3.*every template once"),
        ("# nothing\n", "found no template"),
        ("xpos[m]", r"'xpos\[m\]' needs a column with parts of speech; ask for .* xpos=True \(--xpos\)"),
    ],
)
@pytest.mark.parametrize("order", [1, 2])
def test_templates_that_are_wrong_are_named_by_line(templates, text, message, order):
    with pytest.raises(InputError, match=message):
        ArcFeatureSet(templates(text), order=order, xpos=False)


def test_lines_are_counted_as_in_the_file_and_looked_at_even_if_nothing_uses_them(templates):
    with pytest.raises(InputError, match="line 4: "):
        ArcFeatureSet(templates("pos[s] pos[m]\nlabel pos[m]\npos[m]\npos[z]"), order=1, labelled=False)
    with pytest.raises(InputError, match=r"line 1: found 'pos\[z\]'"):
        ArcFeatureSet(templates("pos[s] pos[z]\npos[m]"), order=1)
    with pytest.raises(InputError, match="has templates of siblings or labels only: add one of arcs"):
        ArcFeatureSet(templates("pos[s] pos[m]\nlabel pos[m]"), order=1, labelled=False)


def test_what_there_is_no_use_for_is_left_out(templates):
    path = templates("pos[m]\npos[s] pos[m]\nlabel pos[m]")
    counts = {
        (order, labelled): tuple(
            fitted(ArcFeatureSet(path, order=order, labelled=labelled, hash_bits=None)).counts.values()
        )
        for order in (1, 2)
        for labelled in (True, False)
    }
    assert counts == {(1, True): (4, 0, 4), (1, False): (4, 0, 0), (2, True): (4, 4, 4), (2, False): (4, 4, 0)}


@pytest.mark.parametrize("name", [None, 3, b"arcs", "no/such/file", "a\0b"])
def test_what_is_no_feature_set_is_said(name):
    with pytest.raises(InputError, match=r"there is no feature set .* the sets are: arcs"):
        ArcFeatureSet(name)


def test_atoms_have_the_values_that_they_describe(templates):
    lines = [
        "word[m] lower[h] pos[m+1]",
        "prefix[m,2] suffix[h,3]",
        "shape[m] shortshape[m-1] direction",
        "column[m,3] distance",
        "pos[h] pos[b] pos[m]",
        "bias",
    ]
    sentence = [("Ab", "A", "1"), ("b", "B", "2"), ("Cd-9", "B", "3"), ("De", "D", "4")]
    features = fitted(ArcFeatureSet(templates("\n".join(lines)), hash_bits=None), [sentence], [[4, 1, 2, 0]])
    assert described(features) == [
        "word[m]=Ab lower[h]=de pos[m+1]=B",
        "shape[m]=Xx shortshape[m-1]=<root> direction=left",
        "column[m,3]=1 distance=3",
        "pos[h]=D pos[b]=B pos[m]=A",  # twice between, and one feature
        "bias",
        "word[m]=b lower[h]=ab pos[m+1]=B",
        "shape[m]=x shortshape[m-1]=Xx direction=right",
        "column[m,3]=2 distance=1",
        "word[m]=Cd-9 lower[h]=b pos[m+1]=D",
        "shape[m]=Xx-d shortshape[m-1]=x direction=right",
        "column[m,3]=3 distance=1",
        "word[m]=De lower[h]=<root> pos[m+1]=</s>",
        "prefix[m,2]=De suffix[h,3]=<root>",
        "shape[m]=Xx shortshape[m-1]=Xx-d direction=right",
        "column[m,3]=4 distance=4",
        "pos[h]=<root> pos[b]=A pos[m]=D",  # outwards from the head
        "pos[h]=<root> pos[b]=B pos[m]=D",
    ]


def test_far_words_are_alike(templates):
    sentence = [(letter, letter) for letter in "abcdefghijklmno"]
    heads = [0, *[1] * 14]
    features = fitted(ArcFeatureSet(templates("distance"), hash_bits=None), [sentence], [heads])
    assert described(features) == [f"distance={n}" for n in ("1", "2", "3", "4", "5", "6-10", "11+")]


def test_lists_of_names_and_clusters_are_looked_up(templates, tmp_path):
    (tmp_path / "places").write_text("New York\n")
    (tmp_path / "paths").write_text("0010\tYork\t5\n11\tin\t9\n")
    lists = Lists.read(tmp_path / "paths", {"PLACE": tmp_path / "places"})
    features = ArcFeatureSet(templates("gazetteer[m] pos[h]\ncluster[m,2]"), hash_bits=None, lists=lists)
    sentence = [("in", "P"), ("New", "N"), ("York", "N")]
    assert described(fitted(features, [sentence], [[3, 3, 0]])) == [
        "cluster[m,2]=11",
        "gazetteer[m]=PLACE-B| pos[h]=N",
        "gazetteer[m]=PLACE-I| pos[h]=<root>",
        "cluster[m,2]=00",
    ]
    again = ArcFeatureSet.load(features.tensors())
    assert described(again) == described(features)
    assert again.values([sentence]).tolist() == features.values([sentence]).tolist()
    assert "cluster[h,6]" in ArcFeatureSet("arcs", lists=lists)._templates


@pytest.mark.parametrize("xpos", [True, False])
def test_the_named_set_reads_the_other_part_of_speech_if_it_is_asked_to(xpos):
    sentences, trees = make_treebank(5)
    features = ArcFeatureSet(xpos=xpos, labelled=False, hash_bits=None)
    found = described(fitted(features, sentences, [[head for head, _ in tree] for tree in trees]))
    assert any("xpos[m]=NN" in name for name in found) == any("xpos" in name for name in found) == xpos
    assert len(set(found)) == len(found)
    lines = FEATURE_SETS["arcs"].split()
    assert {"word[h]", "pos[b]", "pos[s]", "label"} < set(lines)


def test_names_of_features_hold_any_word(templates, tmp_path):
    """A separator is a part of names, and may be a part of words."""
    words = ["a\x1fb", "a", "\x1e", "\x1e\x1f", "\x1f", "b\x1e0", "0:", "a\tb\n", ""]
    sentence = [(word, pos) for word, pos in zip(words, "NVNVNVNVN", strict=True)]
    trees = [[(head, "x\x1f") for head in range(len(words))]]
    parser = DependencyParser(features=templates("word[m] word[h]\nlabel bias"), hash_bits=None, labelled=True, C=10)
    parser.fit([sentence], trees)
    assert parser.model_.features.counts["arcs"] == len(words)
    assert parser.predict([sentence]) == trees
    parser.save(tmp_path / "model")
    assert DependencyParser.load(tmp_path / "model").predict([sentence]) == trees


@pytest.mark.parametrize("text", ["direction distance\nlabel", "bias\nlabel bias", "distance\nlabel direction"])
@pytest.mark.parametrize("hash_bits", [None, 6])
def test_templates_need_not_look_at_words(templates, text, hash_bits, tmp_path):
    parser = DependencyParser(features=templates(text), hash_bits=hash_bits, labelled=True).fit(X, LABELLED)
    assert parser.model_.features.values(X).shape == (5, 0)
    parser.save(tmp_path / "model")
    assert DependencyParser.load(tmp_path / "model").predict(X) == parser.predict(X)


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("labels", [0, 3])
def test_features_are_counted_over_right_arcs(least, labels):
    trees = TinyTrees(3, lengths=(2, 3, 4, 4, 5), order=2, labels=labels)
    trees.templates = TEMPLATES
    counts = [collections.Counter(), collections.Counter(), collections.Counter()]
    for i, y in enumerate(trees.y):
        heads, _ = trees.apart(i, y)
        for kind, name, _ in features_of(TEMPLATES, 2, bool(labels), tuple(trees.X[i]), heads):
            counts[kind][name] += 1
    found = trees.feature_set(min_count=least)._vocabularies
    kept = [[name for name, count in of_kind.items() if count >= least] for of_kind in counts]
    assert [[names.name(k) for k in range(len(names))] for names in found] == kept


def test_a_count_that_leaves_nothing_is_refused():
    with pytest.raises(InputError, match="min_count=50 leaves no feature; give a smaller one"):
        fitted(ArcFeatureSet(min_count=50))


@pytest.mark.parametrize(
    ("options", "bits"),
    [({}, 14), ({"min_count": 2}, None), ({"hash_bits": None}, None), ({"hash_bits": 7}, 7)],
)
def test_features_are_hashed_unless_they_are_counted(options, bits):
    features = fitted(ArcFeatureSet(labelled=False, **options))
    assert features.hash_bits == bits
    assert (features.counts["arcs"] == 2**14 if bits == 14 else features.counts["arcs"] <= 300) is True
    with pytest.raises(InputError, match="with hash_bits no feature is counted, so min_count cannot be 2"):
        ArcFeatureSet(hash_bits=7, min_count=2)


@pytest.mark.parametrize(("words", "bits"), [(1, 14), (20_000, 19), (204_000, 22), (10_000_000, 22)])
def test_more_words_get_more_bits(words, bits):
    assert fitting_bits(words) == bits


@pytest.mark.parametrize(
    ("options", "missing"),
    [({"order": 2, "labelled": False}, "s, which order 2"), ({"order": 1, "labelled": True}, "label, which labelled")],
)
def test_kinds_of_templates_that_are_asked_for_must_be_there(templates, options, missing):
    features = ArcFeatureSet(templates("pos[h] pos[m]"), **options)
    with pytest.raises(InputError, match=f"templates.txt: found no template with {missing} asks for; add one"):
        features.check_templates()


def test_what_no_template_uses_is_warned_about(templates):
    with pytest.warns(InputWarning, match=r"have no template with xpos\[...\]: what was given for it is not used"):
        ArcFeatureSet(templates("pos[h] pos[m]"), labelled=False, xpos=True).check_templates()


def test_rows_of_labels_take_about_as_many_weights_as_arcs(templates):
    path = templates("pos[m]\nlabel pos[m]")
    for labels, rows in ((1, 2**7), (8, 2**7), (9, 2**6), (40, 2**5)):
        counts = fitted(ArcFeatureSet(path, hash_bits=10), labels=labels).counts
        assert counts == {"arcs": 2**10, "siblings": 0, "labels": rows}


def test_number_of_threads_and_order_of_sentences_do_not_change_what_words_look_like():
    sentences, _ = make_treebank(300, seed=1)
    one, three = (ArcFeatureSet(n_threads=threads, xpos=True).values(sentences) for threads in (1, 3))
    assert one.tobytes() == three.tobytes()
    backwards = ArcFeatureSet(xpos=True).values(sentences[::-1])
    lengths = [len(sentence) for sentence in sentences]
    pieces = np.split(backwards, np.cumsum(lengths[::-1])[:-1])
    assert np.concatenate(pieces[::-1]).tobytes() == one.tobytes()


@pytest.mark.parametrize("hash_bits", [None, 9])
def test_a_feature_set_is_the_same_from_its_arrays(hash_bits):
    features = fitted(ArcFeatureSet(order=2, hash_bits=hash_bits), labels=3)
    again = ArcFeatureSet.load(features.tensors())
    assert again.core.identity == features.core.identity
    assert again.counts == features.counts
    assert again.values(X).tobytes() == features.values(X).tobytes()
    assert [described(again, kind)[:20] for kind in range(3)] == [described(features, kind)[:20] for kind in range(3)]


def test_a_template_asks_for_columns_that_words_must_have(templates):
    features = ArcFeatureSet(templates("column[m,4]"))
    told = (
        r"X: found 2 columns, expected a column 4 among them \(the template 'column\[m,4\]' of .*txt, line 1 reads it\)"
    )
    with pytest.raises(InputError, match=told):
        features.values(X)
