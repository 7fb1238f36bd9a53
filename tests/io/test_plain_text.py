"""Plain text: how lines are split into tokens, and how `predict --format text` writes them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.program import TRAINING_SENTENCES, conllu, fails, refuses, run

from marginloom import SequenceTagger, load, write_conllu
from marginloom.io.plain_text import sentence_as_conllu, tokens_of
from marginloom.tasks.parse.datasets import make_treebank
from marginloom.tasks.sequence.datasets import make_tagging


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Go on!", "Go on !"),
        ("don't e-mail 3.14, O'Neil's", "don't e-mail 3.14 , O'Neil's"),
        ('"(a)"', '" ( a ) "'),
        ("wait... what?!", "wait ... what ? !"),
        ("the U.S. and J. Smith, e.g. me.", "the U.S. and J. Smith , e.g. me ."),
        ("Plan B.", "Plan B ."),
        ("pi is 3.14. -- so", "pi is 3.14 . -- so"),
        ("$5 5% «été»。", "$ 5 5 % « été » 。"),
        ("...", "..."),
        ("", ""),
    ],
)
def test_lines_are_split_by_the_documented_rule(text, tokens):
    assert [token for token, _ in tokens_of(text)] == tokens.split()


@given(st.text())
def test_no_character_but_white_space_is_lost_and_spaces_are_where_they_were(text):
    written = "".join(token + (" " if space else "") for token, space in tokens_of(text))
    assert written == "".join(f"{word} " for word in text.split())
    assert all(token for token, _ in tokens_of(text))


@given(st.text(alphabet=st.characters(categories=["L", "N"])))
def test_words_without_marks_stay_whole(text):
    assert [token for token, _ in tokens_of(text)] == text.split()
    assert not any(unicodedata.category(letter)[0] in "PS" for letter in text)


def test_a_sentence_of_conllu_says_its_text_and_where_no_space_follows():
    assert sentence_as_conllu("Go  on!\r") == (
        "# text = Go on!\n"
        "1\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "2\ton\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "3\t!\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    X, y = make_tagging(TRAINING_SENTENCES)
    (folder / "train.conllu").write_text(conllu(X, y))
    run("train", "tag", folder / "train.conllu", "--model", folder / "upos")
    SequenceTagger().fit(X, y).save(folder / "python")
    SequenceTagger(features="chunking", pos_column=2).fit([[(w, "N") for w in x] for x in X], y).save(folder / "pos")
    SequenceTagger(features=None).fit([[[w] for w in x] for x in X], y).save(folder / "ready")
    return folder


@pytest.mark.parametrize(("name", "column"), [("upos", 3), ("python", 4)])
def test_typed_sentences_are_tagged_as_words_are(models, name, column):
    done = run("predict", models / name, "-", "--format", "text", stdin=b"the dog barks.\n\nGo on!\n")
    rows = [line.split("\t") for line in done.stdout.split("\n") if line and line[0] != "#"]
    first, second = ["the", "dog", "barks", "."], ["Go", "on", "!"]
    tagger = load(models / name)
    assert [row[1] for row in rows] == first + second
    assert [row[column] for row in rows] == tagger.predict_single(first) + tagger.predict_single(second)
    assert [row[9] for row in rows] == ["_", "_", "SpaceAfter=No", "_", "_", "SpaceAfter=No", "_"]
    assert [line for line in done.stdout.split("\n") if line[:1] == "#"] == [
        "# text = the dog barks.",
        "# text = Go on!",
    ]


@pytest.mark.parametrize(
    ("name", "words"), [("pos", "found plain text, expected a column 2"), ("ready", "ready features")]
)
def test_models_that_read_more_than_words_reject_text(models, name, words):
    assert words in fails("predict", models / name, "-", "--format", "text", stdin=b"the dog\n")


def test_a_line_that_is_not_utf8_is_named(models):
    assert "-, line 2:" in run("predict", models / "upos", "-", "--format", "text", stdin=b"a\n\xff\n", code=1).stderr
    path = models / "long.txt"
    path.write_text("a\n" + "a " * 65_535)
    assert (
        "line 2: found a sentence of 65,535 words"
        in run("predict", models / "upos", path, "--format", "text", code=1).stderr
    )


@pytest.fixture(scope="module")
def parsers(models):
    X, y = make_treebank(30, seed=0)
    write_conllu(models / "trees.conllu", X, y)
    (models / "words.txt").write_text("word[h] word[m]\ndirection distance\nword[h] direction\nword[m] label\n")
    for name, options in (("parser", ["--no-xpos"]), ("words", ["--features", models / "words.txt"])):
        run("train", "parse", models / "trees.conllu", "--labelled", "--model", models / name, *options)
    return models


def test_parsers_of_words_parse_text(parsers):
    done = run("predict", parsers / "words", "-", "--format", "text", stdin=b"the dog barks.\n")
    heads = [line.split("\t")[6:8] for line in done.stdout.splitlines()[1:5]]
    assert [(int(head), label) for head, label in heads] == load(parsers / "words").predict_single(
        [(word, "_") for word in ("the", "dog", "barks", ".")]
    )


def test_parsers_that_read_parts_of_speech_take_text_that_is_tagged_first(parsers):
    said = fails("predict", parsers / "parser", "-", "--format", "text", stdin=b"the dog\n")
    assert "found plain text, expected UPOS" in said
    assert "tag it first, with 'marginloom predict TAGGER'" in said
    tagged = run("predict", parsers / "upos", "-", "--format", "text", stdin=b"the dog barks.\n").stdout
    parsed = run("predict", parsers / "parser", "-", stdin=tagged.encode()).stdout
    assert parsed.startswith("# text = the dog barks.\n1\tthe\t_\t")
    assert all(line.split("\t")[6].isdecimal() for line in parsed.splitlines()[1:5])


def test_several_trees_of_text_are_refused(parsers):
    assert "--k-best" in refuses("predict", parsers / "words", "-", "--format", "text", "--k-best", "2")
