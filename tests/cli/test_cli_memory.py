"""`--memory` and what the command says about memory."""

import re
import resource
import subprocess
import sys

import pytest
from support.program import PROGRAM, environment, last_json, names_in, run

from marginloom.tasks.sequence.model import SequenceModel

NOTE = r"memory: \d+\.\d MB"


def train(corpus, model, *options):
    return run("train", "tag", corpus / "train.conll", "--model", model, *options)


def test_the_need_is_said_before_training_unless_quiet(corpus, tmp_path):
    assert re.search(
        rf"^{NOTE}, plus the working set, which is usually far below its limit of [\d,]+ MB$",
        train(corpus, tmp_path / "m").stderr,
        re.MULTILINE,
    )
    done = train(corpus, tmp_path / "m", "--algorithm", "perceptron")
    assert re.search(rf"^{NOTE}$", done.stderr, re.MULTILINE)
    assert "memory" not in train(corpus, tmp_path / "m", "--quiet").stderr


def test_an_absurdly_small_budget_changes_nothing_but_says_that_it_was_exceeded(corpus, tmp_path):
    free = train(corpus, tmp_path / "free", "--memory", "1G")
    tight = train(corpus, tmp_path / "tight", "--memory", "1")
    assert "plus the working set, which is usually far below its limit of 1,024 MB" in free.stderr
    assert "more than the memory that they were given" not in free.stdout
    assert "more than the memory that they were given" in tight.stdout
    weights = [SequenceModel.load(tmp_path / name).weights.tobytes() for name in ("free", "tight")]
    assert weights[0] == weights[1]


def test_a_budget_that_is_no_size_is_wrong_usage(corpus, tmp_path):
    done = run("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--memory", "much", code=2)
    assert "memory must be a number of bytes" in " ".join(done.stderr.split())


def test_a_learner_without_working_sets_keeps_none(corpus, tmp_path):
    assert last_json(train(corpus, tmp_path / "m", "--algorithm", "perceptron", "--json"))["active"] == 0


#: Runs the program where it believes that it may have so many bytes, and compares all work with that.
WITH_ROOM = """
import sys
import marginloom.cli
from marginloom.common import memory
from marginloom.common.memory_limits import Room
memory.NEGLIGIBLE = 0
memory.memory_room = lambda: Room({size}, "in this test")
sys.argv[0] = "marginloom"
marginloom.cli.main()
"""


def run_with_room(size, *arguments):
    command = [sys.executable, "-c", WITH_ROOM.format(size=size), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment())


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{label} {label + 1}:1\n" for label in range(3)) + "0 100000000:1\n")
    return path


@pytest.fixture
def many_labels(tmp_path):
    path = tmp_path / "many.conll"
    path.write_text("".join(f"w L{label}\n" for label in range(20_000)) + "\n")
    return path


def test_a_far_index_is_refused_within_the_limit_of_the_process(rows, tmp_path):
    limit = 5 * 1024**3
    done = subprocess.run(
        [PROGRAM, "train", "classify", rows, "--model", tmp_path / "m"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 1
    assert re.fullmatch(
        r"marginloom: training needs 6\.0 GB of memory, and this process may have \d\.\d GB \(left by the limit of its "
        r"address space, see ulimit -v\); only 4 of the 100,000,000 features occur: number those from 1 on, .*\n",
        done.stderr,
    )
    assert names_in(tmp_path) == ["rows.svm"]


def test_many_labels_are_refused(many_labels, tmp_path):
    done = run_with_room(
        2 * 1024**3, "train", "tag", many_labels, "--model", tmp_path / "m", "--features", "words", "--threads", "1"
    )
    assert done.returncode == 1
    warning, error = done.stderr.splitlines()
    assert "20,000 different labels" in warning
    assert error.startswith("marginloom: training needs 6.0 GB of memory (weights 3.0 GB, buffers 3.0 GB), and")


def test_more_than_half_is_a_line_before_training_unless_quiet(corpus, tmp_path):
    arguments = (
        "train",
        "tag",
        corpus / "train.conll",
        "--model",
        tmp_path / "m",
        "--max-iter",
        "3",
        "--features",
        "tagging",
    )
    said = run_with_room(1024**2, *arguments).stderr.splitlines()
    (warning,) = [line for line in said if "half" in line]
    assert re.match(
        r"marginloom: warning: training needs \d+\.\d KB of memory .*, more than half of the 1\.0 MB", warning
    )
    assert said.index(warning) < next(place for place, line in enumerate(said) if line.startswith("memory: "))
    assert "UserWarning" not in "\n".join(said)
    assert run_with_room(1024**2, *arguments, "--quiet").stderr == ""


def test_a_model_is_compared_before_it_is_loaded(corpus, tmp_path):
    train(corpus, tmp_path / "m")
    size = (tmp_path / "m").stat().st_size
    done = run_with_room(size - 1, "predict", tmp_path / "m", corpus / "dev.conll")
    assert done.returncode == 1
    assert re.match(rf"marginloom: the model '{tmp_path}/m' needs .* of memory, and this process may have", done.stderr)
    assert done.stdout == ""
