"""Many labels: what training and its use take for every label of an example, measured and as the plan has it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from support.rooms import GB, MB, set_room

from marginloom import MultilabelClassifier
from marginloom.algorithms import ALGORITHMS, find_algorithm
from marginloom.core.choice import Circumstances
from marginloom.errors import InputError, MemoryWarning
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.memory_plan import plan_memory
from marginloom.training.train import train

ROWS, LABELS = 1000, 2000
#: Bytes for every label of an example that anything may take at its peak.
MOST = 16

SCRIPT = f"""
import sys, warnings
import numpy as np
from scipy.sparse import csr_matrix
from marginloom import MultilabelClassifier
from marginloom.training.checkpoint import Checkpoint

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = csr_matrix(rng.random(({ROWS}, 4)))
lists = [sorted(set(rng.integers(0, {LABELS}, 5).tolist())) for _ in range({ROWS})]
lists[0] = list(range({LABELS}))
columns = np.concatenate([np.array(row) for row in lists])
sparse = csr_matrix((np.ones(columns.size, np.int8), columns, np.cumsum([0] + [len(row) for row in lists])))
y = {{"lists": lists, "sparse": sparse, "array": sparse.toarray()}}[sys.argv[1]]
options = {{"algorithm": "label-dcd", "loss": sys.argv[2], "max_iter": 3, "tol": 1e-9, "C": 0.1, "normalize": False}}
peak_is = "VmHWM:"

def status(name):
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

def measure(name, work):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins here
    before = status("VmRSS:")
    result = work()
    print(name, (status("VmHWM:") - before) / ({ROWS} * {LABELS}))
    return result

MultilabelClassifier(**options).fit(X[:50], [[i % 2] for i in range(50)])  # what is loaded on first use
fitted = measure("fit", lambda: MultilabelClassifier(**options).fit(X, y))
measure("predict", lambda: fitted.predict(X))
measure("evaluate", lambda: fitted.evaluate(X, y))
measure("score", lambda: fitted.score(X, y))
measure("decision_function", lambda: fitted.decision_function(X))
measure("eval_set", lambda: MultilabelClassifier(**options).fit(X, y, eval_set=(X, y)))
folder = Checkpoint(sys.argv[3], interval=0.0)
measure("checkpoint", lambda: MultilabelClassifier(**options).fit(X, y, checkpoint=folder))
"""

can_reset_the_peak = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs /proc to reset the peak of memory"
)


@can_reset_the_peak
@pytest.mark.parametrize(
    ("kind", "loss"), [("lists", "hinge"), ("sparse", "squared_hinge"), ("array", "squared_hinge")]
)
def test_nothing_takes_more_than_sixteen_bytes_for_a_label_of_an_example(tmp_path, kind, loss):
    command = [sys.executable, "-c", SCRIPT, kind, loss, str(tmp_path / "run")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    bytes_each = {name: float(size) for name, size in map(str.split, told.splitlines())}
    assert len(bytes_each) == 7
    assert max(bytes_each.values()) <= MOST, bytes_each
    assert bytes_each["fit"] >= 8  # the duals: it is measured what was meant to be


def many_labels(rows=10, labels=1000, **options):
    return MultilabelTask(csr_matrix(np.eye(rows)), [[i] for i in range(rows)], labels, bias=1.0, **options)


def plan(task, algorithm, n_threads=1, **options):
    return plan_memory(task, find_algorithm(algorithm), n_threads, None, **options)


@pytest.mark.parametrize("labels_per_slack", [None, 8, 1])
def test_the_plan_has_eight_bytes_and_a_bit_for_every_label_of_an_example(labels_per_slack):
    found = plan(many_labels(labels_per_slack=labels_per_slack), "label-dcd")
    assert found.duals == 10 * 1000 * (8 + 1 / 8)
    assert found.vectors == 0
    assert found.working_sets == 0
    assert plan(many_labels(1000), "label-dcd").needs["dual variables"] == 1000 * 1000 * (8 + 1 / 8)


def test_a_state_counts_once_more():
    task = many_labels()
    assert plan(task, "label-dcd", keeps_state=True).duals == 2 * plan(task, "label-dcd").duals


def test_dual_variables_that_do_not_fit_are_refused_with_figures_and_a_way_out(monkeypatch):
    task = many_labels(1000, labels_per_slack=1)
    set_room(monkeypatch, 20 * MB)
    with pytest.raises(InputError) as refusal:
        train(task, algorithm="label-dcd")
    text = str(refusal.value)
    assert "dual variables 7.7 MB" in text
    assert "this process may have 20.0 MB (in this test)" in text
    assert "train some of the labels at a time, which changes nothing for those that do not interact" in text


def test_labels_trained_some_at_a_time_get_the_same_weights():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 5)), rng.random((60, 11)) < 0.3
    options = {"algorithm": "label-dcd", "tol": 1e-9, "max_iter": 500}
    whole = MultilabelClassifier(**options).fit(X, Y)
    first, second = (MultilabelClassifier(**options).fit(X, Y[:, part]) for part in (slice(0, 4), slice(4, 11)))
    assert np.vstack([first.coef_, second.coef_]) == pytest.approx(whole.coef_, abs=1e-4)


def test_more_than_half_is_warned_about(monkeypatch):
    task = many_labels(200, labels_per_slack=1)
    set_room(monkeypatch, 1.5 * sum(plan(task, "label-dcd").needs.values()))
    with pytest.warns(MemoryWarning, match=r"dual variables 1\.\d MB"):
        train(task, algorithm="label-dcd", max_iter=1, tol=1.0)


@pytest.mark.parametrize("algorithm", ["label-dcd", "auto"])
def test_a_budget_that_dual_variables_exceed_is_refused_with_figures(algorithm):
    with pytest.raises(InputError) as refusal:
        train(many_labels(1000, labels_per_slack=1), algorithm=algorithm, memory="5M")
    assert str(refusal.value) == (
        "label-dcd keeps 7.7 MB of dual variables, eight bytes and a bit for every label of 1,000 examples, and memory "
        "allows 5.0 MB; give --memory 8M (memory='8M' in Python) or more, leave it out, or train some of the labels at "
        "a time, which changes nothing for those that do not interact"
    )


def test_a_budget_that_dual_variables_fit_into_is_kept():
    result = train(many_labels(labels_per_slack=1), algorithm="label-dcd", memory="1M")
    assert result.memory.duals <= MB
    assert result.working_set_mb == 0


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "label-dcd"])
def test_other_algorithms_count_what_they_keep_of_every_label_and_name_what_needs_less(monkeypatch, algorithm):
    if algorithm == "newton":
        pytest.skip("is for few weights")
    task = many_labels(1000, labels_per_slack=1)
    least = 24 if find_algorithm(algorithm).learner.kind == "online" else 48
    found = plan(task, algorithm, n_threads=3)
    assert found.vectors >= least * task.core.size
    set_room(monkeypatch, 0.9 * sum(found.needs.values()))
    with pytest.raises(
        InputError, match=r"vectors of the examples [0-9.]+ [KMG]B.* or take label-dcd, which needs eight"
    ):
        train(task, algorithm=algorithm, n_threads=3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_auto_takes_what_needs_least_memory_however_many_labels_there_are(monkeypatch, loss):
    task = many_labels(2, 300_000, labels_per_slack=1)
    assert task.choose(Circumstances(loss, 1)).algorithm == "label-dcd"
    others = [plan(task, name, n_threads=3) for name in ("dcd-ssvm", "shared-dcd", "bcfw", "fsmo", "perceptron")]
    own = plan(task, "label-dcd")
    assert all(own.duals + own.vectors < other.vectors for other in others)


def test_a_0_1_array_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    X, Y = np.eye(4), np.eye(4, dtype=int)
    fitted = MultilabelClassifier().fit(X, Y)
    set_room(monkeypatch, 4 * 4 * 8 - 1)
    with pytest.raises(InputError, match="a 0/1 matrix, 4 examples by 4 labels, needs 128 bytes"):
        fitted.predict(X)


def test_the_plan_of_pipelined_counts_buffers_and_no_copies_of_the_weights():
    wide = many_labels(50, 10_000)
    found = plan(wide, "shrinking-dcd", n_threads=3)
    engine = find_algorithm("shrinking-dcd", engine="pipelined")
    pipelined = plan_memory(wide, engine, 3, None)
    assert pipelined.weights == found.weights
    assert 100 * 10_000 * 8 < pipelined.buffers < GB
