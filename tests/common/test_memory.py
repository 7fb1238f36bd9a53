"""The budget for working sets: what it accepts, what it is by default, and that it changes nothing but memory."""

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.oracles import TinyChains

from marginloom.common.memory import MB, parse_size
from marginloom.common.memory_limits import control_group_rooms, memory_room
from marginloom.errors import InputError
from marginloom.tasks.sequence.estimator import SequenceTagger
from marginloom.training.callbacks import Callback
from marginloom.training.train import train


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (1, 1),
        (np.int32(500), 500),
        ("7", 7),
        ("500M", 500 * MB),
        ("2G", 2048 * MB),
        ("2 gb", 2048 * MB),
        ("1.5KiB", 1536),
        ("1T", 1024**4),
    ],
)
def test_a_size_is_bytes_or_a_number_with_a_unit(given, size):
    assert parse_size("memory", given) == size


@pytest.mark.parametrize(
    "bad", [0, -1, 1.5, True, "", "M", "-1M", "0", "0.1", "5 apples", "1e3", "٣M", 2**63, "9" * 200]
)
def test_a_size_that_is_none_is_refused_in_one_sentence(bad):
    with pytest.raises(InputError, match=r"^memory must be a number of bytes from 1, or a size such as '500M'"):
        parse_size("memory", bad)


@pytest.mark.parametrize(
    ("line", "folder", "names"),
    [
        ("0::/job", "", ("memory.max", "memory.current", "inactive_file")),
        (
            "4:cpu,memory:/job",
            "memory",
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ),
    ],
)
def test_limits_of_containers_count_less_what_is_used_and_cannot_be_reclaimed(tmp_path, line, folder, names):
    membership = tmp_path / "cgroup"
    membership.write_text(f"7:pids:/\n{line}\n")
    inner, outer = tmp_path / folder / "job", tmp_path / folder
    inner.mkdir(parents=True)
    limit, used, cache = names
    for group, values in ((inner, (1000, 600, 100)), (outer, (900, 700, 0))):
        (group / limit).write_text(f"{values[0]}\n")
        (group / used).write_text(f"{values[1]}\n")
        (group / "memory.stat").write_text(f"rss 5\n{cache} {values[2]}\n")
    assert list(control_group_rooms(membership, tmp_path)) == [500, 200]
    (inner / limit).write_text("max\n")
    (outer / used).unlink()
    assert list(control_group_rooms(membership, tmp_path)) == [float("inf")] * 2
    assert list(control_group_rooms(tmp_path / "nowhere", tmp_path)) == []


@pytest.mark.parametrize("representation", ["indicators", "valued", "dense"])
@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "dcd-light"])
def test_every_budget_gives_the_same_bits(algorithm, representation):
    chains = TinyChains(3, sentences=30, max_length=8, integers=representation == "indicators")
    task = make_task(chains, representation)
    options = {"algorithm": algorithm, "C": 0.1, "tol": 0.01, "max_iter": 500}
    free = train(task, **options)
    assert free.stopped == "tolerance"
    held = free.working_set_mb * MB
    for budget in (1, int(held / 2), int(held * 0.9), "1T"):
        result = train(task, memory=budget, **options)
        assert result.certificate == free.certificate
        assert result.weights.tobytes() == free.weights.tobytes()


def test_the_memory_held_keeps_to_the_budget_and_the_trace_shows_it():
    chains = TinyChains(5, sentences=200, max_length=20, integers=True)
    task = make_task(chains, "indicators")
    free, least = (train(task, C=1.0, tol=1e-3, max_iter=30, memory=memory) for memory in ("1T", 1))
    assert least.working_set_mb < 0.7 * free.working_set_mb
    assert least.working_set_mb * MB > least.memory.working_sets == 1
    middle = (least.working_set_mb + free.working_set_mb) / 2
    result = train(task, C=1.0, tol=1e-3, max_iter=30, memory=int(middle * MB))
    held = [row["working_set_mb"] for row in result.trace.rows]
    assert held[-1] == result.working_set_mb
    assert 0.75 * middle < max(held) <= middle


def test_the_plan_is_known_before_training():
    seen = []

    class Look(Callback):
        def before_training(self, run):
            seen.append(run.memory)

    task = make_task(TinyChains(3), "dense")
    result = train(task, algorithm="dcd-ssvm", memory="3M", callbacks=[Look()])
    assert seen == [result.memory]
    assert seen[0].working_sets == 3 * MB
    assert seen[0].weights == 8 * task.core.dimension
    assert seen[0].buffers > 8 * task.core.dimension  # dense features: a difference has a number per weight
    assert seen[0].examples == task.memory > 0
    assert seen[0].describe().endswith("plus the working set, which is usually far below its limit of 3 MB")
    online = train(task, algorithm="perceptron")
    assert online.memory.working_sets == 0
    assert online.working_set_mb == 0
    assert "candidates" not in online.memory.describe()


def test_the_default_is_half_of_what_is_free():
    before = memory_room().size
    plan = train(make_task(TinyChains(3), "valued"), tol=0.1).memory
    assert 0.3 * before < plan.working_sets < 0.7 * before


def test_the_estimator_passes_the_budget_on():
    X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    one, other = (SequenceTagger(features="words", memory=memory).fit(X, y) for memory in (None, "1"))
    assert one.tagger_.weights.tobytes() == other.tagger_.weights.tobytes()
    with pytest.raises(InputError, match="memory must be"):
        SequenceTagger(features="words", memory="lots").fit(X, y)
