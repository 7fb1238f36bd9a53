"""A native task, a learner and an engine from outside of the project, built with the core and trained."""

import os
import subprocess
import sys

import pytest
from support.places import OUTSIDE, ROOT

PROGRAM = """
import numpy as np
from scipy.optimize import minimize
from marginloom import _core
from marginloom.core.task import Task
from marginloom.training.train import train

class Signs(Task):
    name = "signs"
    fingerprint = "signs"
    memory = 0

    def __init__(self, X, y):
        self.core = _core.SignTask(X.tolist(), y.tolist())

random = np.random.default_rng(0)
X = random.normal(size=(200, 6)).astype(np.float32)
y = (X[:, 0] + random.normal(size=200) > 0).astype(np.uint8)
signs = np.where(y == 1, 1.0, -1.0)

def primal(w):
    return w @ w / 2 + 0.5 * (np.maximum(0, 1 - signs * (X @ w)) ** 2).sum()

best = minimize(primal, np.zeros(6), tol=1e-12).fun
for algorithm, engine, threads in (
    ("dcd-ssvm", None, 1),
    ("shared-dcd", None, 2),
    ("demi-dcd", None, 2),
    ("dcd-ssvm", "by-work", 1),
    ("cpd", {"name": "by-work", "work_order": "expensive-first"}, 1),
):
    result = train(Signs(X, y), algorithm=algorithm, engine=engine, C=0.5, tol=1e-6, max_iter=2000, n_threads=threads)
    assert abs(primal(result.weights) - best) < 1e-5 * best, (algorithm, engine, primal(result.weights), best)

separable = (X[:, 0] + X[:, 1] > 0).astype(np.uint8)
clear = np.abs(X[:, 0] + X[:, 1]) > 0.2
task = Signs(X[clear], separable[clear])
options = {"averaged": False, "margin": 2.0, "stop_separated": True}
for engine in ("serial", "minibatch"):
    result = train(task, algorithm="margin-perceptron", learner=options, engine=engine, max_iter=5000)
    assert result.stopped == "separated"
    margins = np.where(separable[clear] == 1, X[clear] @ result.weights, -(X[clear] @ result.weights))
    assert margins.min() >= 2.0, (engine, margins.min())
"""


@pytest.mark.slow
def test_a_folder_of_extensions_is_built_and_trained(tmp_path):
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "package", ROOT]
    settings = [
        f"-Ccmake.define.MARGINLOOM_EXTENSIONS={OUTSIDE / 'native'}",
        f"-Cbuild-dir={tmp_path / 'build'}",
    ]
    subprocess.run([sys.executable, *install, *settings], check=True)
    paths = [tmp_path / "package", OUTSIDE / "native"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    check_build(environment, tmp_path)


def check_build(environment, folder):
    """Train with what was built, and look at what the command line says of it."""
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment, cwd=folder)

    def said(*arguments):
        command = [sys.executable, "-c", "from marginloom.cli import main; main()", *arguments]
        return subprocess.run(command, check=True, env=environment, cwd=folder, capture_output=True, text=True).stdout

    shown = said("algorithms", "margin-perceptron")
    assert shown.startswith("margin-perceptron: perceptron that also learns from gold outputs that win by too little")
    assert "engines    serial, minibatch, subsample " in shown
    assert "--margin" in shown
    assert "by-work" in said("algorithms", "dcd-ssvm")
    options = said("train", "classify", "--help-all")
    assert "--margin" in options
    assert "cheap-first|expensive-first" in options
