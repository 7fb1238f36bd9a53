"""--engine puts a learner on another engine that it has; what does not go together is refused before any work."""

import pytest
from support.program import json_lines, last_json, refuses, run

from marginloom import InputError, find_algorithm
from marginloom.tasks.sequence.model import SequenceModel


@pytest.mark.parametrize(
    ("algorithm", "engine"),
    [
        ("bcfw", "master-worker"),
        ("cpd", "master-worker"),
        ("n-slack", "master-worker"),
        ("one-slack", "master-worker"),
        ("dcd-light", "decoupled"),
        ("ms-dcd", "serial"),
        ("kbest-mira", "minibatch"),
        ("passive-aggressive", "mixing"),
        ("sgd", "subsample"),
    ],
)
def test_learner_runs_on_another_engine(corpus, tmp_path, algorithm, engine):
    done = run(
        "train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--algorithm", algorithm, "--engine", engine,
        "--threads", "2", "--max-iter", "2", "--json", "--trace", tmp_path / "trace", "--features", "words",
    )  # fmt: skip
    assert last_json(done)["engine"] == engine
    assert SequenceModel.load(tmp_path / "m").settings["engine"]["name"] == engine
    threads = 1 if engine in ("serial", "subsample") else 2
    assert [len(row["threads"]) for row in json_lines(tmp_path / "trace")[1:]] == [threads] * 2


def test_options_are_those_of_the_chosen_engine(corpus, tmp_path):
    arguments = ("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--algorithm", "mira")
    chosen = ("--engine", "mixing", "--max-iter", "1", "--features", "words")
    run(*arguments, *chosen, "--shards", "3", "--mixing", "errors")
    stored = SequenceModel.load(tmp_path / "m").settings["engine"]
    assert (stored["shards"], stored["mixing"]) == (3, "errors")
    message = refuses(*arguments, *chosen, "--batch-size", "4")
    said = "has no parameter 'batch_size' (--batch-size on the command line); its engine has: shards, sharding, mixing"
    assert f"mira on the engine mixing {said}" in message
    assert "mira has no parameter 'shards' (--shards on the command line)" in refuses(*arguments, "--shards", "3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--algorithm", "sgd", "--engine", "mixing"),
            "the learner sgd has no engine mixing; its engines are: serial, subsample",
        ),
        (
            ("--algorithm", "fsmo", "--engine", "master-worker"),
            "the learner fsmo has no engine master-worker; its engines are: serial",
        ),
        (("--engine", "master-workers"), "there is no engine 'master-workers' (did you mean 'master-worker'?)"),
        (
            ("--algorithm", "demi-dcd"),
            "for its engine decoupled, and a named algorithm has one by default; give --threads 2",
        ),
        (("--algorithm", "dcd-ssvm", "--engine", "decoupled"), "or more, or use dcd-ssvm"),
    ],
)
def test_what_does_not_go_together_is_refused_before_files_are_read(tmp_path, options, message):
    assert message in refuses("train", "tag", tmp_path / "none", "--model", tmp_path / "m", *options)


@pytest.mark.parametrize(
    ("algorithm", "engine", "given", "learner"),
    [
        ("shrinking-dcd", "master-worker", (), {}),
        ("ms-dcd", "master-worker", ("--rest", "3"), {"rest": 3}),
        ("demi-dcd", "decoupled", ("--averaged", "--shrinking", "0.1"), {"averaged": True, "shrinking": 0.1}),
    ],
)
def test_an_option_that_the_engine_loses_is_refused_in_the_words_of_python(tmp_path, algorithm, engine, given, learner):
    with pytest.raises(InputError) as caught:
        find_algorithm(algorithm, learner, engine)
    chosen = ("--algorithm", algorithm, "--engine", engine, "--threads", "2")
    assert str(caught.value) in refuses("train", "tag", tmp_path / "none", "--model", tmp_path / "m", *chosen, *given)


def test_a_preset_runs_on_an_engine_without_the_option_that_is_lost(corpus, tmp_path):
    arguments = ("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--features", "words", "--json")
    done = run(*arguments, "--algorithm", "shrinking-dcd", "--engine", "master-worker", "--rest", "0")
    assert last_json(done)["engine"] == "master-worker"


def test_algorithms_and_help_show_which_options_an_engine_honours():
    shown = " ".join(run("algorithms", "shrinking-dcd", "--engine", "decoupled").stdout.split())
    assert "master-worker does not support --rest; decoupled does not support --shrinking, --rest or" in shown
    assert "default: 15; the engine decoupled supports only --rest 0" in shown
    assert "takes" not in run("algorithms", "shrinking-dcd").stdout
    assert "does not support" not in run("algorithms", "bcfw").stdout
    assert "[dcd (not on master-worker, decoupled)]" in " ".join(run("train", "tag", "--help-all").stdout.split())


def test_several_learners_and_shared_weights_by_their_options(corpus, tmp_path):
    arguments = ("train", "tag", corpus / "train.conll", "--features", "words", "--json", "--threads", "3")
    done = run(*arguments, "--model", tmp_path / "m", "--algorithm", "demi-dcd", "--learners", "2")
    assert last_json(done)["stopped"] == "tolerance"
    assert SequenceModel.load(tmp_path / "m").settings["engine"]["learners"] == 2
    done = run(*arguments, "--model", tmp_path / "n", "--algorithm", "shared-dcd", "--sweeps", "2")
    assert last_json(done)["engine"] == "shared"
    assert SequenceModel.load(tmp_path / "n").settings["learner"]["sweeps"] == 2


def test_all_of_one_core_are_too_few_for_decoupled_training(corpus, tmp_path):
    arguments = ("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--algorithm", "demi-dcd")
    message = refuses(*arguments, "--threads", "-1", on_one_core=True)
    assert "this process may use only 1 core; give --threads 2" in message
    done = run(*arguments, "--threads", "2", "--features", "words", "--json", on_one_core=True)
    assert last_json(done)["stopped"] == "tolerance"


def test_algorithms_shows_the_engines_of_a_learner():
    assert "engines    serial, master-worker (choose with --engine)" in run("algorithms", "bcfw").stdout
    shown = run("algorithms", "mira", "--engine", "minibatch").stdout
    assert "engine     minibatch" in shown
    assert "--batch-size" in shown
    assert "no engine minibatch" in refuses("algorithms", "sgd", "--engine", "minibatch")
    assert "name the algorithm" in refuses("algorithms", "--engine", "minibatch")


@pytest.mark.parametrize("algorithm", [(), ("--algorithm", "label-dcd"), ("--algorithm", "dcd-ssvm")])
def test_the_engine_of_labels_that_there_was_is_refused_by_what_took_its_place(tmp_path, algorithm):
    arguments = ("train", "multilabel", tmp_path / "none.svm", "--model", tmp_path / "m", *algorithm)
    said = refuses(*arguments, "--engine", "columns")
    assert "there is no engine 'columns' any more: labels that do not interact are trained by the algorithm" in said
    assert "--algorithm label-dcd" in said
    assert "--algorithm label-dcd" in refuses("algorithms", "label-dcd", "--engine", "columns")


def test_label_dcd_is_shown_as_a_learner_on_serial():
    shown = " ".join(run("algorithms", "label-dcd").stdout.split())
    assert "learner binary-dcd (dual: certified) engine serial objective" in shown
    assert "yes-or-no decisions" in shown
    assert "--inner-passes" in shown
