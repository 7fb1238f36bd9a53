"""Nothing is imported once training has begun: with little memory that may fail, or never end, and cost the model."""

import json
import subprocess
import sys

import pytest
from fuzz.samples import build_inputs, train_arguments

#: Runs the program, and says at the end what it has imported since the run began.
WATCHED = """
import json, sys
import marginloom.cli
from marginloom.training.run import Run
original, before = Run.__init__, set()
def note(*arguments):
    before.update(sys.modules)
    original(*arguments)
Run.__init__ = note
code = marginloom.cli.run(sys.argv[1:])
print(json.dumps([code, len(before) > 0, sorted(set(sys.modules) - before)]))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    build_inputs(folder)
    return folder


@pytest.mark.parametrize("name", ["conll", "classify", "multilabel", "detect", "trees"])
def test_nothing_is_imported_between_the_beginning_of_training_and_the_end(files, tmp_path, name):
    arguments = [word for word in train_arguments(name, files) if word != "--quiet"]
    arguments[arguments.index("--checkpoint") + 1] = str(tmp_path / "run")
    arguments += ["--model", str(tmp_path / "m"), "--trace", str(tmp_path / "trace"), "--json"]
    arguments += ["--max-iter", "1", "--tol", "1e-9", "--test", arguments[arguments.index("--dev") + 1]]
    done = subprocess.run([sys.executable, "-c", WATCHED, *arguments], capture_output=True, text=True, check=False)
    assert "training has not converged" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [0, True, []]
