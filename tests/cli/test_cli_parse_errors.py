"""What `marginloom train parse`, and the other commands with its models, say of files and options that are wrong."""

import pytest
from support.program import QUICK_PARSER, fails, last_json, names_in, refuses, run

ROW = "{}\t{}\t_\tX\t_\t_\t{}\t{}\t_\t_\n"


def rows(*heads, labels=None):
    labels = labels or ["x"] * len(heads)
    nodes = zip(heads, labels, strict=True)
    return "".join(ROW.format(n, f"w{n}", head, label) for n, (head, label) in enumerate(nodes, 1)) + "\n"


GOOD = rows(0, 1)
# name, content, what the message has to say besides the name
HOSTILE = {
    "head beyond the sentence": ("x.conllu", GOOD + rows(0, 7), ["line 5", "found the head 7", "one of the 2 words"]),
    "cycle": ("x.conllu", GOOD + rows(0, 3, 2), ["line 5", "word 2 is below itself", "mend the heads"]),
    "its own head": ("x.conllu", GOOD + rows(1), ["line 4", "word 1 is its own head", "mend the heads"]),
    "no root": ("x.conllu", GOOD + rows(2, 1), ["line 4", "no word has the head 0", "mend the heads"]),
    "two roots": ("x.conllu", GOOD + rows(0, 0), ["line 5", "is a root already", "--roots many"]),
    "no heads": ("x.conllu", GOOD + rows("_", "_"), ["line 4", "found _ for a head", "give a file with trees"]),
    "words as heads": ("x.conllu", rows("w2", 0), ["line 1", "found the head 'w2'", "expected the number"]),
    "negative head": ("x.conllu", rows(-1, 0), ["line 1", "found the head '-1'"]),
    "huge head": ("x.conllu", rows(10**30, 0), ["line 1", "found the head '1000"]),
    "missing column": ("x.conllu", GOOD + "1\ta\t_\tX\t_\t_\t0\tx\t_\n", ["line 4", "found 9 columns", "expected 10"]),
    "spaces": ("x.conllu", GOOD.replace("\t", " "), ["line 1", "found 1 column", "tabs"]),
    "numbered from 0": ("x.conllu", "0\ta\t_\tX\t_\t_\t0\tx\t_\t_\n", ["line 1", "found the ID '0', expected 1"]),
    "a word left out": ("x.conllu", GOOD.replace("2\tw2", "3\tw2"), ["line 2", "found the ID '3', expected 2"]),
    "empty": ("x.conllu", "", ["found no sentence", "expected one token a line"]),
    "comments only": ("x.conllu", "# a\n\n# b\n", ["found no sentence"]),
    "ranges only": ("x.conllu", "1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\n\n", ["found no sentence"]),
    "empty CoNLL-X": ("x.conll", "", ["found no sentence"]),
    "short CoNLL-X": ("x.conllx", "1\ta\t_\tX\t_\t_\t0\tx\n", ["line 1", "found 8 columns", "expected 10"]),
    "latin-1": ("x.conllu", GOOD.replace("w1", "\udce9"), ["line 1", "0xe9", "UTF-8"]),
    "no header": ("x.conllup", GOOD, ["line 1", "# global.columns = "]),
    "no HEAD": ("x.conllup", "# global.columns = ID FORM UPOS\n1\ta\tX\n", ["line 1", "expected HEAD among them"]),
    "no DEPREL": (
        "x.conllup",
        "# global.columns = ID FORM UPOS HEAD\n1\ta\tX\t0\n",
        ["line 1", "expected DEPREL among them"],
    ),
    "no UPOS": (
        "x.conllup",
        "# global.columns = ID FORM HEAD DEPREL\n1\ta\t0\tx\n",
        ["line 1", "expected UPOS among them"],
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_cannot_be_learnt_is_named_with_its_line(tmp_path, kind):
    name, text, parts = HOSTILE[kind]
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    said = fails("train", "parse", tmp_path / name, "--model", tmp_path / "m", "--labelled", "--quiet")
    for part in (name, *parts):
        assert part in said
    assert names_in(tmp_path) == [name]


@pytest.mark.parametrize("kind", ["head beyond the sentence", "no heads", "missing column", "empty", "latin-1"])
def test_a_file_that_cannot_be_scored_is_named_with_its_line(treebank, tmp_path, kind):
    name, text, parts = HOSTILE[kind]
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    said = fails("evaluate", treebank / "model", tmp_path / name)
    for part in (name, *parts):
        assert part in said
    train = ["train", "parse", treebank / "train.conllu", "--dev", tmp_path / name, "--model", tmp_path / "m"]
    assert parts[0] in fails(*train, "--labelled", *QUICK_PARSER)


def test_trees_that_the_parser_cannot_make_are_scored(treebank, tmp_path):
    """Several roots, and arcs that cross."""
    (tmp_path / "t.conllu").write_text(rows(0, 0) + rows(3, 4, 0, 3))
    assert last_json(run("evaluate", treebank / "model", tmp_path / "t.conllu", "--json"))["tokens"] == 6


@pytest.mark.parametrize(
    ("heads", "message"),
    [((2, 1), "no word has the head 0"), ((0, 3, 2), "word 2 is below itself"), ((0, 2), "word 2 is its own head")],
)
def test_gold_heads_that_make_no_tree_are_an_error_wherever_they_are_scored(treebank, tmp_path, heads, message):
    wrong = tmp_path / "t.conllu"
    wrong.write_text(rows(0, 0) + rows(*heads))
    place = f"{wrong}, line {4 if heads[0] else 5}: {message}"
    assert place in fails("evaluate", treebank / "model", wrong)
    train = ["train", "parse", treebank / "train.conllu", "--model", tmp_path / "m", "--quiet", *QUICK_PARSER]
    for option in ("--dev", "--test"):
        assert place in fails(*train, option, wrong)
    assert names_in(tmp_path) == ["t.conllu"]


def test_a_sentence_that_is_too_long_is_named_by_file_and_line(treebank, tmp_path):
    long = tmp_path / "long.conllu"
    long.write_text("# text\n" + rows(0, *[1] * 65_534) + rows(0))
    words = f"{long}, line 2: here begins a sentence of 65,535 words, and a sentence has at most 65,534; split it"
    train = ["train", "parse", "--model", tmp_path / "m", "--quiet", *QUICK_PARSER]
    for command in (["predict", treebank / "model"], ["evaluate", treebank / "model"], train):
        assert words in fails(*command, long)


def test_wrong_usage_is_refused(treebank, tmp_path):
    train = ["train", "parse", treebank / "train.conllu", "--model", tmp_path / "m", "--quiet"]
    assert "--roots must be one of one, many, not 'two'" in refuses(*train, "--roots", "two")
    assert "--invalid-gold must be one of repair, skip, error" in refuses(*train, "--invalid-gold", "drop")
    assert "--order" in refuses(*train, "--order", "3")
    assert "--hash-bits" in refuses(*train, "--hash-bits", "32")
    assert "min_count" in refuses(*train, "--min-count", "0")
    assert "feature_cache" in refuses(*train, "--feature-cache", "much")
    assert "--pos-column" in refuses(*train, "--pos-column", "0")
    assert "--format" in refuses(*train, "--format", "crfsuite")
    assert "--gazetteer" in refuses(*train, "--gazetteer", "names.txt")
    assert "--column" in refuses(*train, "--column", "4")
    assert "--k-best" in refuses("predict", treebank / "model", treebank / "test.conllu", "--k-best", "0")
    assert names_in(tmp_path) == []


def test_what_does_not_go_together_is_said(treebank, tmp_path):
    train = ["train", "parse", treebank / "train.conllu", "--model", tmp_path / "m", "--quiet"]
    assert "min_count cannot be 2" in fails(*train, "--hash-bits", "12", "--min-count", "2")
    assert "there is no feature set 'tagging' for arcs" in fails(*train, "--features", "tagging")
    said = fails(*train, "--pos-column", "11")
    assert "train.conllu, line 1: found 10 columns, expected a column 11 among them" in said
    assert "as pos_column (--pos-column) says" in said
    for place, name in (("7", "HEAD"), ("8", "DEPREL"), ("deps", "DEPS")):
        assert f"the column {name} holds trees" in fails(*train, "--pos-column", place)
    (tmp_path / "templates").write_text("pos[h] pos[m]\ncolumn[m,7]\n")
    said = fails(*train, "--features", tmp_path / "templates")
    assert "the column HEAD holds trees, and the template 'column[m,7]' of " in said
    assert "templates, line 2 reads it" in said
    (tmp_path / "templates").write_text("pos[h] pos[m]\npos[s] pos[m]\npos[q]\n")
    assert "templates, line 3: found 'pos[q]'" in fails(*train, "--features", tmp_path / "templates")
    (tmp_path / "templates").write_text("xpos[m]\n")
    assert "ask for the other part of speech with xpos=True (--xpos)" in fails(
        *train, "--no-xpos", "--features", tmp_path / "templates"
    )
    mixed = ["train", "parse", treebank / "train.conllu", treebank / "train.conllx", "--model", tmp_path / "m"]
    assert "conllu and conllx cannot be mixed" in fails(*mixed)
    assert "cannot read" in fails("train", "parse", tmp_path / "none.conllu", "--model", tmp_path / "m")
