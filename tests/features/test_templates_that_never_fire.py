"""A template that reads what is not given is an error before training, on both sides, in the same words."""

import re

import pytest
from support.program import fails, names_in

from marginloom import DependencyParser, InputError, SequenceTagger, make_treebank, write_conllu
from marginloom.features import ExtractedFeatures, Lists
from marginloom.tasks.parse.features import ArcFeatureSet

X, Y = make_treebank(8, seed=0)
TAGS = [[upos for _, upos, _ in sentence] for sentence in X]
PAIRS = [[word[:2] for word in sentence] for sentence in X]
#: The template, what it needs, and what to do.
TOKENS = {
    "clusters": ("word[0] cluster[0,4]", "needs word clusters, and none were given", r"clusters= (--clusters FILE)"),
    "gazetteer": ("gazetteer[-1]", "needs gazetteers, and none was given", "gazetteers= (--gazetteer NAME=FILE)"),
    "pos": ("pos[0] word[0]", "needs a column with parts of speech", "name it with pos_column= (--pos-column)"),
    "number": ("word[0] column[1,12]", "expected a column 12 among them", "name a column that is there"),
    "name": ("column[0,shape]", "expected shape among them", ""),
}
ARCS = {
    "clusters": ("cluster[m,4] pos[h]", TOKENS["clusters"][1], TOKENS["clusters"][2]),
    "clusters of labels": ("label cluster[h,2]", TOKENS["clusters"][1], TOKENS["clusters"][2]),
    "gazetteer": ("gazetteer[h]", TOKENS["gazetteer"][1], TOKENS["gazetteer"][2]),
    "number": ("pos[h] column[m,12]", "expected a column 12 among them", "name a column that is there"),
    "name": ("column[b,shape] pos[m]", "expected shape among them", ""),
}


@pytest.fixture
def folder(tmp_path):
    write_conllu(tmp_path / "t.conllu", X, Y)
    return tmp_path


def check(said, template, needs, advice):
    for part in (f"the template '{template}'", "own.txt, line 3", needs, advice):
        assert part in said


@pytest.mark.parametrize("kind", TOKENS)
def test_taggers_say_what_a_template_needs(folder, kind):
    template = TOKENS[kind][0]
    (folder / "own.txt").write_text(f"word[0]\n# {template}\n{template}\nsuffix[0,2]\n")
    command = ("train", "tag", folder / "t.conllu", "--features", folder / "own.txt", "--model", folder / "m")
    check(fails(*command), *TOKENS[kind])
    assert names_in(folder) == ["own.txt", "t.conllu"]
    for hash_bits in (None, 8):
        tagger = SequenceTagger(features=str(folder / "own.txt"), hash_bits=hash_bits)
        with pytest.raises(InputError) as error:
            tagger.fit(PAIRS, TAGS)
        check(str(error.value), *TOKENS[kind])


@pytest.mark.parametrize("kind", ARCS)
def test_parsers_say_what_a_template_needs(folder, kind):
    template = ARCS[kind][0]
    (folder / "own.txt").write_text(f"pos[m]\n# {template}\n{template}\nlabel pos[m]\n")
    command = ("train", "parse", folder / "t.conllu", "--labelled", "--model", folder / "m")
    check(fails(*command, "--features", folder / "own.txt"), *ARCS[kind])
    assert names_in(folder) == ["own.txt", "t.conllu"]
    for hash_bits in (None, 8):
        parser = DependencyParser(features=str(folder / "own.txt"), labelled=True, hash_bits=hash_bits)
        with pytest.raises(InputError) as error:
            parser.fit(PAIRS, Y)
        check(str(error.value), *ARCS[kind])


def test_lines_that_are_left_out_need_nothing(tmp_path):
    (tmp_path / "own.txt").write_text("pos[m]\npos[s] cluster[m,4]\nlabel gazetteer[m]\n")
    options = {"features": str(tmp_path / "own.txt"), "hash_bits": 8}
    DependencyParser(**options).fit(PAIRS, Y)
    with pytest.raises(InputError, match=r"line 2: the template .* needs word clusters"):
        DependencyParser(**options, order=2).fit(PAIRS, Y)
    with pytest.raises(InputError, match=r"line 3: the template .* needs gazetteers"):
        DependencyParser(**options, labelled=True).fit(PAIRS, Y)


def test_what_is_given_serves(tmp_path):
    forms = sorted({form for sentence in X for form, _, _ in sentence})
    (tmp_path / "brown").write_text("".join(f"{n:b}\t{form}\t1\n" for n, form in enumerate(forms, 1)))
    (tmp_path / "names").write_text("\n".join(forms))
    lists = Lists.read(tmp_path / "brown", {"G": tmp_path / "names"})
    (tmp_path / "tokens").write_text("cluster[0,4]\ngazetteer[0]\npos[0]\ncolumn[0,2]\n")
    (tmp_path / "arcs").write_text("cluster[m,4]\ngazetteer[m]\nxpos[m]\ncolumn[m,2]\n")
    tokens = ExtractedFeatures(str(tmp_path / "tokens"), lists=lists, pos_column=3)
    tokens.fit(X)
    fired = {tokens.describe(number).partition("=")[0] for number in range(tokens.feature_count)}
    assert fired == {"cluster[0,4]", "gazetteer[0]", "pos[0]", "column[0,2]"}
    arcs = ArcFeatureSet(str(tmp_path / "arcs"), lists=lists, xpos=True, labelled=False)
    assert arcs.values(X).all(axis=0).tolist() == [True] * 4


def test_named_sets_do_without_what_is_not_given():
    for name in ("words", "tagging", "chunking", "ner", "ner-observed", "ner-rich"):
        assert ExtractedFeatures(name).fit([["a", "b"]]).features.size
    assert ArcFeatureSet("arcs").values(PAIRS).any(axis=0).all()


def test_a_file_of_clusters_without_a_word_is_an_error(tmp_path):
    (tmp_path / "brown").write_text("\n\n")
    for estimator, y in ((DependencyParser(clusters=tmp_path / "brown"), Y), (SequenceTagger(features="ner"), TAGS)):
        with pytest.raises(InputError, match=r"brown: found no word, expected one a line"):
            estimator.set_params(clusters=tmp_path / "brown").fit(PAIRS, y)


@pytest.mark.parametrize("empty", [{}, None])
def test_no_gazetteer_at_all_is_none(tmp_path, empty):
    (tmp_path / "own.txt").write_text("word[0]\ngazetteer[0]\n")
    with pytest.raises(InputError, match=re.escape("line 2: the template 'gazetteer[0]' needs gazetteers")):
        SequenceTagger(features=str(tmp_path / "own.txt"), gazetteers=empty).fit(PAIRS, TAGS)


@pytest.mark.parametrize(
    "text", ["column[0,]", "column[0]", "column[0,0]", "column[0,-1]", "column[0,a,b]", "column[0,[]"]
)
def test_columns_in_templates_are_numbers_or_names(tmp_path, text):
    (tmp_path / "own.txt").write_text(f"word[0]\n{text}\n")
    with pytest.raises(InputError, match=r"own\.txt, line 2: found .*, expected something like column\[-1,3\]"):
        ExtractedFeatures(str(tmp_path / "own.txt"))
