"""Files of another format than the training files, and outputs that are inputs."""

from support.program import conllu, fails, names_in, run

from marginloom.tasks.sequence.datasets import make_tagging, write_conll


def test_conllu_keeps_its_words_under_a_model_of_plain_columns(corpus, tmp_path, model):
    words, tags = make_tagging(3, seed=5)
    (tmp_path / "x.conllu").write_text(conllu(words, tags))
    out = run("predict", model, tmp_path / "x.conllu").stdout
    rows = [line.split("\t") for line in out.splitlines() if line and not line.startswith("#")]
    assert [row[1] for row in rows] == [word for sentence in words for word in sentence]
    assert all(row[3] for row in rows)


def test_unknown_ending_has_the_format_of_the_training_files(tmp_path):
    words, tags = make_tagging(60, seed=0)
    (tmp_path / "train.conllu").write_text(conllu(words, tags))
    run("train", "tag", tmp_path / "train.conllu", "--model", tmp_path / "m", "--max-iter", "3")
    (tmp_path / "x.txt").write_text(conllu(words[:2], tags[:2]))
    by_name = run("predict", tmp_path / "m", tmp_path / "train.conllu").stdout.splitlines()
    out = run("predict", tmp_path / "m", tmp_path / "x.txt").stdout.splitlines()
    assert out == by_name[: len(out)]


def test_features_that_read_columns_refuse_another_format(tmp_path):
    words, tags = make_tagging(40, seed=0)
    write_conll(tmp_path / "t.conll", words, tags, tags)
    run("train", "tag", tmp_path / "t.conll", "--features", "chunking", "--pos-column", "2", "--model", tmp_path / "m")
    (tmp_path / "x.conllu").write_text(conllu(words, tags))
    said = fails("predict", tmp_path / "m", tmp_path / "x.conllu")
    assert "x.conllu, line 1: found the columns ID FORM" in said
    assert "expected a column 2 without a name among them (the template 'pos[-2]' of chunking reads it" in said
    assert "give plain columns, as in training, and say so with --format" in said


def test_a_file_that_is_read_is_not_written_over(corpus, tmp_path):
    write_conll(tmp_path / "t.conll", *make_tagging(20, seed=0))
    before = (tmp_path / "t.conll").read_bytes()
    for options in (["--model", tmp_path / "t.conll"], ["--model", tmp_path / "m", "--trace", tmp_path / "t.conll"]):
        said = fails("train", "tag", tmp_path / "t.conll", *options)
        assert "would be overwritten" in said
    assert (tmp_path / "t.conll").read_bytes() == before
    assert names_in(tmp_path) == ["t.conll"]
