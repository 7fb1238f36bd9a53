"""Ranks of MPI, as mpiexec starts them: what only real processes can show."""

import hashlib
import json
import re
import signal
import sys
from pathlib import Path

import pytest
import support
from support.program import PROGRAM, fails, json_lines, names_in, refuses, run, wait_for_lines
from support.ranks import ended, run_ranks, start_ranks, train_ranks

from marginloom import Checkpoint, SequenceTagger, load, make_tagging
from marginloom.tasks.sequence.datasets import write_conll

SCRIPT = Path(support.__file__).with_name("rank_script.py")
QUICK = ["--tol", "0.02", "--features", "words"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "train.conll"
    write_conll(path, *make_tagging(80, seed=0))
    return path


def bits(path):
    model = load(path).model_
    return model.weights.tobytes(), model.certificate


SOLVED_IN_PARTS = ["--engine", "cascade", "--parts", "4", "--feedback", "2", "--batch", "40", "--rounds", "4"]


@pytest.mark.parametrize(("count", "algorithm"), [(3, "ms-dcd"), (2, "ipm"), (3, "fsmo")])
def test_ranks_give_the_bits_of_one_process(corpus, tmp_path, count, algorithm):
    quick = {"ipm": [*QUICK[2:], "--shards", "6"], "fsmo": [*QUICK, *SOLVED_IN_PARTS]}.get(algorithm, QUICK)
    train = ["tag", corpus, *quick, "--algorithm", algorithm, "--quiet", "--json"]
    run("train", *train, "--model", tmp_path / "alone")
    code, out, err = train_ranks(count, *train, "--model", tmp_path / "m", "--trace", tmp_path / "trace")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    assert json.loads(out)["world"]["parts"] == count
    assert bits(tmp_path / "m") == bits(tmp_path / "alone")
    assert names_in(tmp_path) == ["alone", "m", "trace"]
    for row in json_lines(tmp_path / "trace")[1:]:
        assert row["world"]["parts"] == len(row["world"]["work"]) == count
        assert row["world"]["sent"] > 0


def in_own_folders(tmp_path, corpus, second):
    """Train in two ranks, each in a folder of its own, the second with another file or none."""
    for number, content in enumerate((corpus.read_text(), second)):
        (tmp_path / str(number)).mkdir()
        if content is not None:
            (tmp_path / str(number) / "train.conll").write_text(content)
    command = f"cd {tmp_path}/$PMI_RANK && {PROGRAM} train tag train.conll --model m --quiet --cluster mpi"
    code, out, err = run_ranks(2, "sh", "-c", command)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert names_in(tmp_path / "0") == ["train.conll"]
    return err


def test_a_file_that_one_rank_cannot_read(tmp_path, corpus):
    err = in_own_folders(tmp_path, corpus, None)
    assert re.fullmatch(r"marginloom: rank 1 on \S+: cannot read 'train.conll': there is no such file; .*\n", err)


def test_a_file_that_differs_in_one_rank(tmp_path, corpus):
    err = in_own_folders(tmp_path, corpus, corpus.read_text().replace("NOUN", "VERB", 1))
    assert re.match(r"marginloom: the file 'train.conll' of rank 1 on \S+ is not the one of rank 0 on ", err)


def test_wrong_usage_is_told_once(corpus, tmp_path):
    code, out, err = train_ranks(2, "tag", corpus, "--model", tmp_path / "m", "--algorithm", "dcd-ssvm")
    assert (code, out) == (2, "")
    assert err.count("does not train on a cluster") == 1


def test_processes_that_do_not_know_of_each_other(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    said = fails("train", "tag", corpus, "--model", tmp_path / "m", "--cluster", "mpi")
    assert "OMPI_COMM_WORLD_SIZE says that 4 processes were started, and each of them is alone in its MPI" in said
    said = refuses("train", "tag", corpus, "--model", tmp_path / "m")
    assert "4 processes were started (OMPI_COMM_WORLD_SIZE), and each would train and write the same model" in said


def test_scripts_go_on_alike_in_all_ranks(tmp_path):
    code, _, err = run_ranks(2, sys.executable, "-m", "mpi4py", SCRIPT, tmp_path, "fits")
    assert code == 0, err
    first, second = (json.loads((tmp_path / f"seen.{rank}").read_text()) for rank in range(2))
    divided, *failed = first[:3]
    alone = SequenceTagger("ms-dcd", engine={"rounds": 4}, features="words", tol=0.01).fit(*make_tagging(60, seed=0))
    assert divided[1] == hashlib.sha256(alone.model_.weights.tobytes()).hexdigest()
    assert divided[2:-1] == [repr(alone.certificate_), alone.n_iter_, alone.stopped_, len(alone.history_)]
    assert second[0][-1] > 4 * divided[-1] > 0  # rank 1 gives many answers to a question, rank 0 one
    for line in failed:
        assert re.match(r"rank 1 on \S+: this search does not work; ", line[1])
    assert [line[1] for line in second[1:3]] == ["this search does not work"] * 2
    first, second = first[3:], second[3:]
    assert [line[0] for line in first] == ["fitted", "failed", "again", "differs", "odd data", "warm"]
    for ours, theirs in zip(first, second, strict=True):
        if ours[0] in ("fitted", "again", "warm"):
            assert theirs == ours
    assert first[1][1] == "the callback does not like this"
    assert re.fullmatch(r"rank 0 on \S+ has ended training: the callback does not like this", second[1][1])
    assert re.search(r"rank 1 on \S+ has C = 1.0, and rank 0 on \S+ has 2.0", first[3][1])
    assert re.match(r"rank 1 on \S+: ", first[4][1])


def test_signals_end_a_round_and_save_what_there_is(corpus, tmp_path):
    train = ["tag", corpus, *QUICK[2:], "--tol", "1e-7", "--max-iter", "40", "--algorithm", "ms-dcd", "--quiet"]
    run("train", *train, "--model", tmp_path / "alone")
    place = ["--checkpoint", tmp_path / "run", "--resume"]
    process = start_ranks(
        2, PROGRAM, "train", *train, *place, "--max-iter", "1000000000", "--tol", "1e-300",
        "--model", tmp_path / "m", "--trace", tmp_path / "trace", "--cluster", "mpi",
    )  # fmt: skip
    wait_for_lines(process, tmp_path / "trace", 4)
    process.send_signal(signal.SIGTERM)
    code, _, err = ended(process)
    assert code == 143, err
    assert load(tmp_path / "m").stopped_ == "interrupted"
    assert "--resume goes on after pass" in err


CASCADE = {
    "algorithm": "fsmo",
    "engine": {"name": "cascade", "parts": 3, "feedback": 2, "rounds": 4},
    "learner": {"batch": 20},
}


@pytest.mark.parametrize("place", ["reading", "round", "certificate", "solution"])
def test_a_killed_rank_ends_the_job_and_the_run_goes_on_alone(tmp_path, place):
    code, _, _ = run_ranks(2, sys.executable, "-m", "mpi4py", SCRIPT, tmp_path, "killed", place)
    assert code != 0
    words, tags = make_tagging(60, seed=0)
    settings = CASCADE if place == "solution" else {"algorithm": "ms-dcd", "engine": {"rounds": 1}}
    expected = SequenceTagger(**settings, features="words", tol=0.01).fit(words, tags)
    assert (tmp_path / "run" / "checkpoint.safetensors").exists() == (place != "reading")
    resumed = SequenceTagger(**settings, features="words", tol=0.01)
    resumed.fit(words, tags, checkpoint=Checkpoint(tmp_path / "run", interval=0), resume=True)
    assert resumed.model_.weights.tobytes() == expected.model_.weights.tobytes()
    assert resumed.certificate_ == expected.certificate_
    assert len(resumed.history_) == len(expected.history_)
