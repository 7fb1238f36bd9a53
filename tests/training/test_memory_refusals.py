"""Memory is compared with what there is before it is taken: too much is refused, more than half is warned about."""

import gzip
import resource
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from support.chain_tasks import make_task
from support.oracles import TinyChains
from support.rooms import GB, MB, set_room

from marginloom import MulticlassClassifier, MultilabelClassifier, SequenceTagger
from marginloom.algorithms import ALGORITHMS, find_algorithm
from marginloom.common import memory, memory_limits
from marginloom.common.memory import NEGLIGIBLE, require_memory
from marginloom.common.memory_limits import Room
from marginloom.errors import InputError, MemoryWarning
from marginloom.features import ExtractedFeatures
from marginloom.io.files import read_bytes
from marginloom.io.libsvm import read_libsvm
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.tasks.multilabel.label_pairs import resolve_pairs
from marginloom.tasks.multilabel.label_sets import pack_lists, unpack
from marginloom.tasks.multilabel.model import MultilabelModel
from marginloom.training.memory_plan import plan_memory
from marginloom.training.train import train


@pytest.fixture
def nothing_is_built(monkeypatch):
    """Fail if training comes as far as taking memory for weights."""

    def build(*_):
        raise AssertionError("memory is taken")

    for preset in ALGORITHMS.values():
        monkeypatch.setattr(type(preset.learner), "build", build)


def far_column(classes):
    """Return examples of which one has an index of 100,000,000."""
    columns = [0, 10**8 - 1]
    X = csr_matrix((np.ones(2 * classes), np.tile(columns, classes), np.arange(0, 2 * classes + 1, 2)))
    return X, np.arange(classes)


def many_labels(count):
    return [[f"w{i % 7}" for i in range(count)]], [[f"L{i}" for i in range(count)]]


@pytest.mark.usefixtures("nothing_is_built")
def test_a_far_index_is_refused_with_figures_and_a_way_out(monkeypatch):
    set_room(monkeypatch, 4 * GB)
    with pytest.raises(InputError) as refusal:
        MulticlassClassifier().fit(*far_column(3))
    assert str(refusal.value) == (
        "training needs 6.0 GB of memory, and this process may have 4.0 GB (in this test); only 2 of the 100,000,000 "
        "features occur: number those from 1 on, without gaps"
    )


@pytest.mark.usefixtures("nothing_is_built")
def test_more_weights_than_can_be_numbered_are_refused_with_figures_and_a_way_out(monkeypatch):
    set_room(monkeypatch, 4 * GB)
    with pytest.raises(InputError, match=r"100,000,001 features times 300 labels make 30,400,000,304 weights") as found:
        MulticlassClassifier().fit(*far_column(300))
    assert "226.5 GB; this process may have 4.0 GB" in str(found.value)
    assert "only 2 of the 100,000,000 features occur" in str(found.value)


@pytest.mark.usefixtures("nothing_is_built")
def test_many_labels_of_a_tagger_are_refused_with_figures_and_a_way_out(monkeypatch):
    set_room(monkeypatch, 2 * GB)
    with pytest.raises(InputError, match=r"^training needs 6\.0 GB of memory \(weights 3\.0 GB, buffers 3") as no:
        SequenceTagger(features="words", n_threads=1).fit(*many_labels(20_000))
    assert "this process may have 2.0 GB (in this test)" in str(no.value)
    assert "--min-count, --hash-bits" in str(no.value)
    assert "pairs of the 20,000 that there are have 400,000,000 weights" in str(no.value)


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "ipm", "perceptron"])
def test_more_than_half_is_warned_about_once_and_trained(monkeypatch, algorithm):
    task = make_task(TinyChains(3), "valued")
    need = sum(plan_memory(task, find_algorithm(algorithm), 2, None).needs.values())
    set_room(monkeypatch, 1.5 * need)
    with pytest.warns(MemoryWarning, match=r"^training needs .* of memory .* more than half .*in this test") as told:
        train(task, algorithm=algorithm, n_threads=2, max_iter=1)
    assert len([warning for warning in told if issubclass(warning.category, MemoryWarning)]) == 1


def test_half_is_not_warned_about(monkeypatch):
    task = make_task(TinyChains(3), "valued")
    set_room(monkeypatch, 2 * sum(plan_memory(task, find_algorithm("dcd-ssvm"), 1, None).needs.values()))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MemoryWarning)
        train(task, algorithm="dcd-ssvm", max_iter=1)


def test_copies_of_the_weights_count_and_the_way_out_names_them(monkeypatch):
    task = make_task(TinyChains(3), "valued")
    size = 8 * task.core.dimension

    def copies(name, n_threads=1, **options):
        return plan_memory(task, find_algorithm(name, options or None), n_threads, None).weights / size

    assert copies("dcd-ssvm") == 1
    assert copies("dcd-ssvm", averaged=True) == 3
    assert copies("averaged-perceptron") == 3
    assert copies("ipm", n_threads=4) >= 1 + 2 * 4
    assert copies("bcfw") == 2
    assert copies("one-slack") == 4
    assert plan_memory(task, find_algorithm("dcd-ssvm"), 1, None, keeps_state=True).weights == 2 * size
    assert plan_memory(task, find_algorithm("bcfw"), 1, None).vectors == 24 * task.entries + 48 * task.core.size > 0
    set_room(monkeypatch, 4 * size)
    with pytest.raises(InputError, match=r"take fewer threads than 4, or take an algorithm that keeps fewer copies"):
        train(task, algorithm="ipm", n_threads=4)


def test_working_sets_get_half_of_what_the_weights_leave(monkeypatch):
    set_room(monkeypatch, 100 * MB)
    task = make_task(TinyChains(3), "valued")
    plan = train(task, max_iter=1).memory
    assert plan.working_sets == (100 * MB - sum(plan.needs.values())) // 2


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ("bio", r"a list of the 200,010,000 pairs of 20,000 labels that the constraints bio forbid needs 14\.9 GB"),
        ([("B-0", "B-1")], r"a table of what may follow each of 20,000 labels needs 381\.5 MB"),
    ],
)
def test_pairs_of_labels_are_refused_before_they_are_listed(monkeypatch, constraints, message):
    set_room(monkeypatch, 300 * MB)
    labels = [[f"{prefix}-{i}" for i in range(10_000) for prefix in "BI"]]
    with pytest.raises(InputError, match=message):
        SequenceTagger(features="words", constraints=constraints).fit([["w"] * 20_000], labels)


def test_all_pairs_of_many_labels_are_refused(monkeypatch):
    set_room(monkeypatch, GB)
    with pytest.raises(InputError, match=r"199,990,000 pairs of 20,000 labels needs 14\.9 GB .* take 'tree'"):
        resolve_pairs("full", 20_000, None)


def test_a_matrix_of_costs_is_refused(monkeypatch):
    set_room(monkeypatch, GB)
    X, y = csr_matrix((20_000, 1)), np.arange(20_000)
    with pytest.raises(InputError, match=r"a matrix of costs for 20,000 classes needs 20\.9 GB"):
        MulticlassClassifier(cost_matrix={(0, 1): 2.0}).fit(X, y)
    with pytest.raises(InputError, match=r"a matrix of costs for 20,000 classes needs 20\.9 GB"):
        MulticlassTask(X, y, 20_000, cost_matrix=[[0.0]])


@pytest.mark.parametrize("estimator", [MulticlassClassifier, MultilabelClassifier])
def test_dense_arrays_of_a_model_are_refused(monkeypatch, estimator):
    y = [0, 1, 2] if estimator is MulticlassClassifier else np.eye(3, dtype=int)
    fitted = estimator(C=1.0).fit(np.eye(3), y)
    coef, intercept = fitted.coef_, fitted.intercept_
    set_room(monkeypatch, 71)
    with pytest.raises(InputError, match=r"coefficients, 3 labels by 3 features, needs .*weights instead"):
        fitted.coef_  # noqa: B018
    with pytest.raises(InputError, match=r"a dense matrix of scores, 3 examples by 3 labels, needs .* fewer examples"):
        fitted.decision_function(np.eye(3))
    set_room(monkeypatch, 143)
    with pytest.warns(MemoryWarning, match="coefficients"):
        assert np.array_equal(fitted.coef_, coef)
    assert np.array_equal(fitted.intercept_, intercept)


def test_a_matrix_of_labels_is_refused(monkeypatch):
    packed = pack_lists([[0], [1]], 10)
    set_room(monkeypatch, 19)
    with pytest.raises(InputError, match="a 0/1 matrix, 2 examples by 10 labels, needs"):
        unpack(packed, 10)


def test_a_model_is_refused_before_it_is_read(monkeypatch, tmp_path):
    path = tmp_path / "model"
    MultilabelClassifier().fit(np.eye(2), [["a"], ["b"]]).save(path)
    set_room(monkeypatch, path.stat().st_size - 1)
    with pytest.raises(InputError, match=r"the model '.*' needs .* train a smaller one"):
        MultilabelModel.load(path)
    set_room(monkeypatch, 2 * path.stat().st_size - 1)
    with pytest.warns(MemoryWarning, match="the model"):
        MultilabelModel.load(path)


def test_a_file_is_refused_before_it_is_read(monkeypatch, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"x" * 1000)
    set_room(monkeypatch, 3999)
    assert len(read_bytes(path, copies=1)) == 1000
    with pytest.raises(InputError, match=r"reading '.*text' needs .* give a part of it"):
        read_bytes(path, copies=4)


def test_a_compressed_file_is_refused_once_it_has_grown(monkeypatch, tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(bytes(96 * MB)))
    set_room(monkeypatch, 40 * MB)
    with pytest.warns(MemoryWarning), pytest.raises(InputError, match=r"reading '.*text.gz' needs 80\.0 MB"):
        read_bytes(path)


def test_entries_of_a_file_are_refused_before_they_are_parsed(monkeypatch, tmp_path):
    path = tmp_path / "rows"
    path.write_text("1 1:1 2:1 3:1\n")
    set_room(monkeypatch, 71)
    with pytest.raises(InputError, match=r"parsing '.*rows' needs"):
        read_libsvm(path)


def test_features_are_refused_before_they_are_extracted(monkeypatch):
    features = ExtractedFeatures("words")
    set_room(monkeypatch, 31)
    with pytest.raises(InputError, match="extracting the features of 4 tokens by 1 templates needs"):
        features.fit([["a", "b"], ["c", "d"]])


def test_only_what_needs_little_is_not_compared_with_what_there_is(monkeypatch):
    asked = []
    monkeypatch.setattr(memory, "memory_room", lambda: asked.append(None) or Room(1, "in this test"))
    require_memory("work", {"numbers": NEGLIGIBLE // 2, "text": NEGLIGIBLE // 2 - 1}, "do less")
    assert asked == []
    with pytest.raises(InputError, match="work needs"):
        require_memory("work", {"numbers": NEGLIGIBLE // 2, "text": NEGLIGIBLE // 2}, "do less")


def test_the_least_room_counts_and_is_explained(monkeypatch):
    rooms = {"free": 500.0, "group": 400.0}
    monkeypatch.setattr(memory_limits, "_free_memory", lambda: rooms["free"])
    monkeypatch.setattr(memory_limits, "control_group_rooms", lambda *_: iter([700.0, rooms["group"]]))
    monkeypatch.setattr(memory_limits, "_limit_room", lambda *_: float("inf"))
    assert memory_limits.memory_room() == memory_limits.Room(400, "left by the limit of its control group")
    rooms["free"] = 300.0
    assert memory_limits.memory_room() == memory_limits.Room(300, "free on this machine")


@pytest.mark.parametrize(("limit", "reason"), [("RLIMIT_AS", "address space"), ("RLIMIT_DATA", "data")])
def test_limits_of_the_process_count_less_what_it_has(limit, reason):
    script = f"""
import resource
from marginloom.common.memory_limits import memory_room
most = {256 * MB}
resource.setrlimit(resource.{limit}, (most, resource.RLIM_INFINITY))
room = memory_room()
assert 2 <= room.size < most, room
assert {reason!r} in room.reason, room
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
