"""Template files of CRF++."""

import pytest

from marginloom import InputError, SequenceTagger
from marginloom.features.crfpp import templates_of_crfpp

CHUNKING = """# Unigram
U00:%x[-2,0]
U05:%x[-1,0]/%x[0,0]

U16:%x[-1,1]/%x[0,1]/%x[+1,1]
U99:
# Bigram
B
B01:%x[0,0]
B02:%x[-1,1]/%x[0,1]
"""


def test_lines_become_templates_on_the_same_lines():
    assert templates_of_crfpp(CHUNKING, "own.crfpp").splitlines() == [
        "",
        "word[-2]",
        "word[-1] word[0]",
        "",
        "column[-1,2] column[0,2] column[1,2]",
        "bias",
        "",
        "",
        "label[-1] word[0]",
        "label[-1] column[-1,2] column[0,2]",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("U00:%x[0,0]\nC01:%x[0,0]\n", "line 2: found 'C01.*begins with U or B"),
        ("U00:%y[0,0]\n", "line 1: found .*the only macros are like"),
        ("U00:%x[0,a]\n", "line 1: found .*the only macros are like"),
        ("U:%x[0,0]\n\nU:%x[1,0]\n", "line 3: begins with 'U:', as line 1 does"),
    ],
)
def test_what_cannot_be_meant_names_the_line(text, said):
    with pytest.raises(InputError, match=f"own.crfpp, {said}"):
        templates_of_crfpp(text, "own.crfpp")


def test_a_tagger_trained_with_them_needs_no_file_to_predict(tmp_path):
    path = tmp_path / "own.crfpp"
    path.write_text("U00:%x[0,0]\nU01:%x[0,1]\nB\nB01:%x[0,1]\n")
    X = [[("he", "PRP"), ("sleeps", "VBZ")], [("it", "PRP"), ("barks", "VBZ")]]
    y = [["B-NP", "B-VP"], ["B-NP", "B-VP"]]
    tagger = SequenceTagger("dcd-ssvm", features=str(path)).fit(X, y)
    tagger.save(tmp_path / "model")
    path.unlink()
    loaded = SequenceTagger.load(tmp_path / "model")
    assert loaded.predict(X) == y
    names = {entry["feature"] for entry in loaded.model_.strongest(10)}
    assert "after B-NP, column[0,2]=VBZ" in names


def test_a_column_that_the_input_does_not_have_names_the_line_of_the_file(tmp_path):
    path = tmp_path / "own.crfpp"
    path.write_text("U00:%x[0,0]\n\nU01:%x[0,3]\n")
    with pytest.raises(InputError, match=r"own.crfpp, line 3"):
        SequenceTagger("dcd-ssvm", features=str(path)).fit([[("he", "PRP")]], [["B-NP"]])
