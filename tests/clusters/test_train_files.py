"""Training from files in Python gives what the command line gives, by the same words."""

import os
from pathlib import Path

import pytest
from support.program import run

from marginloom import InputError, SequenceTagger, load, make_tagging, train_files
from marginloom.clusters.dask import Dask
from marginloom.commands.caller import Caller, called_by
from marginloom.commands.clusters import chosen_cluster, recipe_of
from marginloom.tasks.sequence.datasets import write_conll

OPTIONS = {
    "algorithm": "ipm",
    "shards": 3,
    "shuffle": False,
    "features": "words",
    "start_end": True,
    "max_iter": 2,
    "resume": False,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "train.conll"
    write_conll(path, *make_tagging(40, seed=0))
    return path


def test_words_are_those_of_the_command_line(corpus, tmp_path, capsys):
    tagger = train_files("tag", [corpus, corpus], model=tmp_path / "here", dev=corpus, **OPTIONS)
    run(
        "train", "tag", corpus, corpus, "--model", tmp_path / "there", "--algorithm", "ipm", "--shards", "3",
        "--no-shuffle", "--features", "words", "--start-end", "--max-iter", "2", "--dev", corpus,
    )  # fmt: skip
    assert isinstance(tagger, SequenceTagger)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    assert tagger.predict([["the"]]) == load(tmp_path / "here").predict([["the"]])
    assert capsys.readouterr() == ("", "")


def test_a_file_of_any_name(tmp_path):
    path = tmp_path / "-odd name"
    write_conll(path, *make_tagging(5, seed=0))
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert train_files("tag", "-odd name", model="m", max_iter=1, algorithm="perceptron").stopped_
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_itr": 3}, "No such option: --max-itr. Did you mean --max-iter"),
        ({"max_iter": "many"}, "Invalid value for '--max-iter'"),
        ({"algorithm": "dcd"}, "there is no algorithm 'dcd'"),
        ({"algorithm": "perceptron", "tol": 0.1}, "perceptron has no tol"),
        ({"patience": 2}, "--patience needs --dev"),
    ],
)
def test_wrong_usage_is_an_error_of_the_input(corpus, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train_files("tag", corpus, model=tmp_path / "m", **options)


def test_tasks_that_there_are_not(corpus, tmp_path):
    with pytest.raises(InputError, match="there is no task 'tags' on the command line"):
        train_files("tags", corpus, model=tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (None, {"workers": 2}, "--workers has no effect without --cluster dask"),
        ("mpi", {"scheduler": "tcp://a:1", "answer_timeout": 3.0}, "--scheduler and --answer-timeout have no effect"),
        ("spark", {}, "--cluster must be mpi or dask, not 'spark'"),
        ("dask", {}, "a Dask cluster needs the address"),
    ],
)
def test_options_that_name_no_cluster(name, given, message):
    with pytest.raises(InputError, match=message):
        chosen_cluster(name, given)


def test_a_cluster_is_given_once():
    with (
        called_by(Caller(cluster=Dask(workers=1))),
        pytest.raises(InputError, match="--cluster cannot be given beside"),
    ):
        chosen_cluster("mpi", {})


def test_what_can_be_read_only_once_is_no_file_for_a_cluster(tmp_path, corpus):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe' can be read only once, and every process of a cluster reads it"):
        recipe_of([tmp_path / "pipe"])
    with pytest.raises(InputError, match="- stands for standard input, which only one process of a cluster could read"):
        train_files("tag", "-", model=tmp_path / "m", cluster=Dask(workers=1))
