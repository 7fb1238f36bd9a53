"""What differs between processes is named before training begins."""

import dataclasses
import json
from types import MappingProxyType

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.oracles import TinyChains

from marginloom import PartError
from marginloom.training.part import Part, check_hello
from marginloom.training.plan import Decided, make_plan
from marginloom.training.spec import RunSpec


def part(task=None, files=MappingProxyType({}), **options):
    task = task or make_task(TinyChains(0, sentences=4), "valued")
    return Part(task, make_plan(task, RunSpec(algorithm="ms-dcd", **options)), files)


def difference(here, there):
    with pytest.raises(PartError) as error:
        check_hello(there.answer("hello", {}, {}), "rank 1 on b", here.identity, "rank 0 on a")
    return str(error.value)


def test_processes_that_are_alike_agree():
    check_hello(part(n_threads=1).answer("hello", {}, {}), "there", part(n_threads=2, tol=0.5).identity, "here")


def test_settings_that_differ_are_named():
    assert difference(part(C=0.5), part(C=1.0)) == (
        "rank 1 on b has C = 1.0, and rank 0 on a has 0.5; every process needs the same settings"
    )
    assert "learner sweeps = 2" in difference(part(), part(learner={"sweeps": 2}))
    assert "seed = 7" in difference(part(), part(random_state=7))


def test_data_that_differ_are_named():
    other = make_task(TinyChains(1, sentences=4), "valued")
    assert difference(part(), part(other)).startswith("rank 1 on b has other examples than rank 0 on a")
    assert "other sample_weight" in difference(part(), part(sample_weight=[1, 2, 1, 1]))


def test_files_that_differ_are_named(tmp_path):
    file = tmp_path / "train.conll"
    file.write_text("a X")
    here = part(files={str(file): file})
    assert here.identity["files"]
    file.write_text("a Y")
    assert difference(here, part(files={str(file): file})) == (
        f"the file '{file}' of rank 1 on b is not the one of rank 0 on a; every process reads the same"
    )


@pytest.mark.parametrize("name", ["version of marginloom", "build of marginloom", "byte order"])
def test_programs_that_differ_are_named(name):
    here, there = part(), part()
    there.identity[name] = "another"
    assert difference(here, there).startswith(f"rank 1 on b has {name} = another, and rank 0 on a has ")


@pytest.mark.parametrize("answer", [{}, {"identity": np.zeros(3, dtype=np.uint8)}, {"identity": b"[]"}])
def test_who_does_not_say_who_it_is(answer):
    given = {name: np.frombuffer(value, dtype=np.uint8) for name, value in answer.items()}
    with pytest.raises(PartError, match="does not say who it is"):
        check_hello(given, "rank 1 on b", part().identity, "rank 0 on a")


def test_what_was_decided_survives_json():
    task = make_task(TinyChains(0, sentences=4), "valued")
    plan = make_plan(task, RunSpec(random_state=None), parts=3)
    stored = json.loads(json.dumps(plan.decided.stored()))
    again = make_plan(task, RunSpec(random_state=None), Decided.from_stored(stored))
    assert dataclasses.replace(again, common=plan.common, examples=plan.examples, memory=plan.memory) == plan
