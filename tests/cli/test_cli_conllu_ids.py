"""Rows of CoNLL-U that are no words: ranges and empty nodes, and nothing else, whoever reads the file."""

import pytest
from support.program import conllu, fails, last_json, run

from marginloom import make_tagging, make_treebank, read_conllu, write_conllu
from marginloom.errors import InputError

REST = "\t_\t_\t_\t_\t_\t_\t_\t_\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A tagger and a parser, with the files that they were trained on."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "tag.conllu").write_text(conllu(*make_tagging(30)))
    write_conllu(folder / "parse.conllu", *make_treebank(20, seed=0))
    for task in ("tag", "parse"):
        run("train", task, folder / f"{task}.conllu", "--model", folder / task, "--max-iter", "2", "--quiet")
    return folder


def with_id(text, row, name):
    """Give a row, counted from 0, another ID."""
    rows = text.split("\n")
    rows[row] = "\t".join([name, *rows[row].split("\t")[1:]])
    return "\n".join(rows)


def test_text_that_is_not_conllu_is_an_error_and_not_passed_through(models):
    for task in ("tag", "parse"):
        for text in (b"I like dogs.", b"well-known\n", b"1-2 dogs\n"):
            said = fails("predict", models / task, "-", stdin=text)
            assert "-, line 1: found 1 column, expected 10 separated by tabs, as in CoNLL-U" in said


@pytest.mark.parametrize("wrong", ["2-", "2.", "-2"])
@pytest.mark.parametrize("task", ["tag", "parse"])
def test_other_ids_are_errors_for_all_that_reads_files(models, tmp_path, task, wrong):
    path = tmp_path / "x.conllu"
    path.write_text(with_id((models / f"{task}.conllu").read_text(), 1, wrong))
    good = models / f"{task}.conllu"
    train = ["train", task, "--model", tmp_path / "m", "--quiet", "--max-iter", "1"]
    for command in (
        ["predict", models / task, path],
        ["evaluate", models / task, path],
        [*train, path],
        [*train, good, "--dev", path],
        [*train, good, "--test", path],
    ):
        assert f"{path}, line 2: found the ID '{wrong}', expected a number" in fails(*command)
    if task == "parse":
        with pytest.raises(InputError, match=r"x\.conllu, line 2: found the ID"):
            read_conllu(path)


@pytest.mark.parametrize("task", ["tag", "parse"])
def test_ranges_and_empty_nodes_are_no_words_and_stay_in_the_output(models, tmp_path, task):
    text = (models / f"{task}.conllu").read_text()
    between = f"1-2\tal{REST}", f"0.1\tghost{REST}"
    path = tmp_path / "x.conllu"
    path.write_text("".join(between) + text)
    counts = [
        last_json(run("evaluate", models / task, file, "--json"))["tokens"]
        for file in (path, f"{models}/{task}.conllu")
    ]
    assert counts[0] == counts[1] == sum(1 for row in text.split("\n") if row and row[0] != "#")
    out = run("predict", models / task, path).stdout
    assert out == "".join(between) + run("predict", models / task, models / f"{task}.conllu").stdout


def test_a_range_without_all_columns_is_an_error(models, tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text("1-2\tal\n" + (models / "tag.conllu").read_text())
    assert f"{path}, line 1: found 2 columns, expected 10" in fails("evaluate", models / "tag", path)
