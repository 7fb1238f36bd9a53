"""A native task from outside of the project, built with the core and trained."""

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
for algorithm, threads in (("dcd-ssvm", 1), ("shared-dcd", 2), ("demi-dcd", 2)):
    result = train(Signs(X, y), algorithm=algorithm, C=0.5, tol=1e-6, max_iter=2000, n_threads=threads)
    assert abs(primal(result.weights) - best) < 1e-5 * best, (algorithm, primal(result.weights), best)
"""


@pytest.mark.slow
def test_a_folder_of_tasks_from_elsewhere_is_built_and_trained(tmp_path):
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "package", ROOT]
    settings = [
        f"-Ccmake.define.MARGINLOOM_TASKS={OUTSIDE / 'native'}",
        f"-Cbuild-dir={tmp_path / 'build'}",
    ]
    subprocess.run([sys.executable, *install, *settings], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "package")}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment, cwd=tmp_path)
