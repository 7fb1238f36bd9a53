"""Messages show the beginning of a long field, and never half a letter, which would not be text."""

import pytest

from marginloom import InputError, SequenceTagger, read_crfsuite, read_libsvm

#: Of two bytes, so that a cut at one of two neighbouring lengths falls within a letter.
LETTERS = ["x" + "é" * 70_000, "é" * 70_000]


def told(error):
    text = str(error.value)
    assert len(text) < 1000
    assert "ééé..." in text
    return text


@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("line", ["1 {0}", "1 {0}:1", "1 2:{0}", "{0},{0} 1:1"])
def test_libsvm(tmp_path, line, letters):
    (tmp_path / "f").write_text(line.format(letters) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_libsvm(tmp_path / "f", multilabel=True)
    assert f"{tmp_path / 'f'}, line 1" in told(error)


@pytest.mark.parametrize("letters", LETTERS)
def test_crfsuite(tmp_path, letters):
    (tmp_path / "f").write_text(f"A\tname:{letters}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_crfsuite(tmp_path / "f")
    assert f"{tmp_path / 'f'}, line 1" in told(error)


@pytest.mark.parametrize("letters", LETTERS)
def test_templates(tmp_path, letters):
    (tmp_path / "f").write_text(f"word[0]\n{letters}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        SequenceTagger(features=str(tmp_path / "f")).fit([["a"]], [["A"]])
    assert "line 2" in told(error)


@pytest.mark.parametrize("letters", LETTERS)
def test_names_of_features(letters):
    with pytest.raises(InputError) as error:
        SequenceTagger().fit([[{letters: None}]], [["A"]])
    told(error)
