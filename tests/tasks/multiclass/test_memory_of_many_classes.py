"""Many classes: nothing that the plan of memory does not have grows with examples times classes."""

import subprocess
import sys

import pytest

EXAMPLES, CLASSES = 1000, 20_000
#: Bytes for every class of an example beside what is planned; a single number would be eight.
MOST = 1

SCRIPT = f"""
import sys, warnings
import numpy as np
from scipy.sparse import csr_matrix
from marginloom.algorithms import find_algorithm
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.memory_plan import plan_memory
from marginloom.training.train import train

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
algorithm, engine, threads = sys.argv[1], sys.argv[2] or None, int(sys.argv[3])

def task(examples):
    X = csr_matrix(rng.random((examples, 3)))
    return MulticlassTask(X, rng.integers(0, {CLASSES}, examples), {CLASSES}, bias=1.0)

def status(name):
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

def measure(name, planned, work):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins here
    before = status("VmRSS:")
    result = work()
    print(name, (status("VmHWM:") - before - planned) / ({EXAMPLES} * {CLASSES}))
    return result

options = dict(algorithm=algorithm, engine=engine, n_threads=threads, max_iter=2)
if "tol" in find_algorithm(algorithm).common:
    options["tol"] = 1e-9
train(task(5), **options)  # what is loaded on first use
whole = task({EXAMPLES})
planned = sum(plan_memory(whole, find_algorithm(algorithm, engine=engine), threads, None).needs.values())
result = measure("train", planned, lambda: train(whole, **options))
measure("predict", 0, lambda: whole.predict(result.weights, threads))
measure("predict_k_best", 0, lambda: whole.predict_k_best(result.weights, 3, threads))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc to reset the peak of memory")
@pytest.mark.parametrize(
    ("algorithm", "engine", "threads"),
    [
        ("dcd-ssvm", "", 1),
        ("shrinking-dcd", "", 1),
        ("shrinking-dcd", "pipelined", 3),
        ("fastssvm", "", 2),
        ("demi-dcd", "", 2),
        ("ms-dcd", "", 2),
        ("bcfw", "", 1),
        ("averaged-perceptron", "", 1),
        ("minibatch-mira", "", 2),
    ],
)
def test_nothing_that_is_not_planned_grows_with_examples_times_classes(algorithm, engine, threads):
    command = [sys.executable, "-c", SCRIPT, algorithm, engine, str(threads)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    bytes_each = {name: float(size) for name, size in map(str.split, told.splitlines())}
    assert list(bytes_each) == ["train", "predict", "predict_k_best"]
    assert max(bytes_each.values()) <= MOST, bytes_each
