"""Engines in a world of parts: the bits of one process, and what happens where a part or a user says no."""

import dataclasses

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.custom_chains import EnumeratedChains
from support.oracles import TinyChains
from support.pairs import CASES
from support.parts import Parts, sent
from support.small_tasks import SMALL

from marginloom import InputError, Perceptron, _core, find_algorithm
from marginloom.engines import ENGINES, Mixing, Serial
from marginloom.engines.base import Job, check_native
from marginloom.learners.base import CommonOptions

#: Every learner on every engine that works in parts.
IN_PARTS = sorted(
    {
        (find_algorithm(name, engine=engine).learner.name, engine): name
        for name, engine in CASES
        if ENGINES[engine].in_parts
    }.items()
)
PASSES = 4


@dataclasses.dataclass
class Training:
    """Passes of an algorithm over a task, alone or in a world of parts with one thread, two, three, one, ..."""

    task: object
    algorithm: object
    loss: str = "hinge"

    def job(self, n_threads):
        count = self.task.example_count
        loss = self.loss if self.algorithm.learner.losses else ""
        learner = self.algorithm.learner.build(self.task.core, CommonOptions(0.3, loss, np.ones(count), memory=2**40))
        return Job(self.task.core, learner, np.arange(count, dtype=np.uint64), n_threads, seed=5)

    def engine(self, n_threads=1):
        return self.algorithm.engine.build(self.job(n_threads))

    def world(self, parts):
        return Parts(self.algorithm.engine, [self.job(1 + part % 3) for part in range(parts)])

    def trained(self, n_threads=1, world=None):
        """Return all that can be seen of some passes."""
        engine, seen = self.engine(n_threads), []
        for _ in range(PASSES):
            report = engine.run_pass(world=world)
            assert not report.stopped
            seen.append([report.inferences, report.updates, report.wrong, report.training_loss, report.dual])
            state = engine.export_state()
            seen.append([engine.final_weights().tobytes(), {name: array.tobytes() for name, array in state.items()}])
        certificate = engine.certify(n_threads, world=world)
        if certificate is not None:
            seen.append([certificate.primal, certificate.dual, certificate.complete, certificate.proven])
        return seen


def chains(sentences=23):
    return make_task(TinyChains(4, sentences=sentences, max_length=6, integers=False), "valued")


@pytest.mark.parametrize(("pair", "preset"), IN_PARTS, ids=[f"{p[0]}-{p[1]}" for p, _ in IN_PARTS])
@pytest.mark.parametrize("kind", SMALL)
def test_every_task_and_learner_gives_what_one_process_gives(kind, pair, preset):
    engine = pair[1]
    divided = {"mixing": {"shards": 4}, "cascade": {"parts": 3, "feedback": 2}}.get(engine, {})
    algorithm = find_algorithm(preset, engine={"name": engine, **divided})
    task = SMALL[kind]().task
    if not algorithm.learner.all_needs() <= {"gold", *task.core.capabilities}:
        pytest.skip("the task lacks what the learner needs")
    for loss in algorithm.learner.losses or ("",):
        training = Training(task, algorithm, loss)
        alone = training.trained()
        for parts in (1, 2, 3, 5):
            assert training.trained(n_threads=1 + parts % 2, world=training.world(parts)) == alone


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("mixing", ["uniform", "errors"])
@pytest.mark.parametrize("inner_epochs", [0, 1, 3])
def test_mixing_gives_what_one_process_gives(inner_epochs, mixing, averaged):
    engine = {"shards": 5, "mixing": mixing, "inner_epochs": inner_epochs}
    training = Training(chains(), find_algorithm("ipm", learner={"averaged": averaged}, engine=engine))
    alone = training.trained()
    for parts in (2, 3, 7):
        world = training.world(parts)
        assert training.trained(world=world) == alone
        assert world.questions == ["train"] * PASSES


def test_the_primal_of_any_weights_is_that_of_one_process():
    task = chains()
    training = Training(task, find_algorithm("ms-dcd"))
    weights = np.random.default_rng(0).normal(size=task.core.dimension)
    costs = np.where(np.arange(23) % 4 == 0, 0.0, 0.5)
    alone = _core.primal_value(task.core, weights, costs, _core.Loss.hinge, 1)
    for parts in (1, 2, 5):
        world = training.world(parts)
        found = _core.primal_value(task.core, weights, costs, _core.Loss.hinge, 2, world=world)
        assert (found.value, found.squared_norm, found.complete) == (alone.value, alone.squared_norm, True)
        assert world.questions == ["slacks"]


class Odd:
    """A world that does something else before it answers, or to the answers."""

    def __init__(self, world, before=lambda: None, after=lambda answers: answers):
        self._world, self._before, self._after = world, before, after
        self.parts, self.shares = world.parts, world.shares

    def ask(self, question, common, own, changed):
        self._before()
        return self._after(self._world.ask(question, common, own, changed))


def raising(error):
    def fail():
        raise error

    return fail


TWO_KINDS = [("ms-dcd", {}), ("ipm", {"shards": 4})]


@pytest.mark.parametrize(("preset", "options"), TWO_KINDS)
def test_an_interruption_ends_the_pass_and_an_error_reaches_the_caller(preset, options):
    training = Training(chains(), find_algorithm(preset, engine=options))
    engine, world = training.engine(), training.world(2)
    engine.run_pass(world=world)
    before = engine.final_weights()
    assert engine.run_pass(world=Odd(world, raising(KeyboardInterrupt()))).stopped
    assert (engine.final_weights() == before).all()
    with pytest.raises(LookupError, match="no worker"):
        engine.run_pass(world=Odd(world, raising(LookupError("no worker"))))
    assert (engine.final_weights() == before).all()
    assert engine.run_pass(world=world).inferences == 23


def test_an_interrupted_certificate_is_not_complete():
    training = Training(chains(), find_algorithm("ms-dcd"))
    engine, world = training.engine(), training.world(2)
    engine.run_pass(world=world)
    assert not engine.certify(1, world=Odd(world, raising(KeyboardInterrupt()))).complete
    with pytest.raises(LookupError, match="no worker"):
        engine.certify(1, world=Odd(world, raising(LookupError("no worker"))))
    assert engine.certify(1, world=world).complete


def test_a_request_to_stop_while_parts_are_asked_ends_the_pass():
    training = Training(chains(), find_algorithm("ms-dcd"))
    engine, world, stop = training.engine(), training.world(2), _core.StopFlag()

    report = engine.run_pass(stop, Odd(world, stop.set))
    assert report.stopped
    assert report.inferences == 0
    assert engine.run_pass(world=world).inferences == 23


@pytest.mark.parametrize(("preset", "options"), TWO_KINDS)
def test_a_world_that_answers_nonsense_is_told_so(preset, options):
    training = Training(chains(), find_algorithm(preset, engine=options))
    engine, world = training.engine(), training.world(2)

    def refused(after, message):
        with pytest.raises(ValueError, match=message):
            engine.run_pass(world=Odd(world, after=after))

    question = "search" if preset == "ms-dcd" else "train"
    refused(lambda answers: answers[:1], f"given 1 answers to '{question}', and it was asked for 2")
    refused(lambda answers: [answers[0], {}], f"the answer of part 1 to '{question}' cannot be used: there is no array")
    refused(
        lambda answers: [answers[0], {**answers[1], "seconds": "long"}],
        f"'seconds' of the answer of part 1 to '{question}' is not an array of the right type",
    )
    swapped = f"the answer of part 0 to '{question}' cannot be used"
    refused(lambda answers: answers[::-1] if len(set(map(str, answers))) > 1 else [{}, {}], swapped)
    assert engine.run_pass(world=world).inferences == 23


def test_a_question_that_is_none_is_an_error_in_a_sentence():
    task = chains()
    training = Training(task, find_algorithm("ms-dcd"))
    part = training.algorithm.engine.build_part(training.job(1))
    common = {"weights": np.zeros(task.core.dimension)}
    own = {"examples": np.arange(3, dtype=np.uint64)}
    answer = part.answer("slacks", common, own)
    assert {name: array.shape for name, array in answer.items()} == {"slacks": (3,), "seconds": (1,)}
    with pytest.raises(ValueError, match="no question 'who' for a part of this engine"):
        part.answer("who", common, own)
    with pytest.raises(ValueError, match="there is no example 23"):
        part.answer("slacks", common, {"examples": np.array([1, 23], dtype=np.uint64)})
    with pytest.raises(ValueError, match="'examples' of the question is not an array of the right type"):
        part.answer("slacks", common, {"examples": [1, 2]})
    crooked = np.zeros(8 * task.core.dimension + 1, dtype=np.uint8)[1:].view(np.float64)
    with pytest.raises(ValueError, match="'weights' of the question is not aligned"):
        part.answer("slacks", {"weights": crooked}, own)
    stop = _core.StopFlag()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        part.answer("slacks", common, own, stop)


def test_weights_that_a_world_keeps_are_safe_to_read():
    training = Training(chains(), find_algorithm("ms-dcd"))
    kept = []

    class Keeping(Parts):
        def ask(self, question, common, own, changed):
            kept.extend([common["weights"], *own[0].values()])
            return super().ask(question, common, own, changed)

    engine = training.engine()
    engine.run_pass(world=Keeping(training.algorithm.engine, [training.job(1)]))
    weights = engine.weights
    del engine
    assert (kept[0] == weights).all()
    assert not kept[0].flags.writeable
    assert all(np.isfinite(array).all() for array in kept)


def test_tasks_in_plain_python_search_in_parts():
    oracle = TinyChains(3, sentences=12, max_length=3, integers=False)
    for preset, options in TWO_KINDS:
        training = Training(EnumeratedChains(oracle), find_algorithm(preset, engine=options))
        assert training.trained(world=training.world(2)) == training.trained()


def test_engines_without_parts_say_so():
    training = Training(chains(), find_algorithm("dcd-ssvm"))
    with pytest.raises(ValueError, match="the engine serial does not work in parts"):
        Serial().build_part(training.job(1))
    world = Training(chains(), find_algorithm("ms-dcd")).world(2)
    with pytest.raises(ValueError, match="this engine does not work in parts"):
        training.engine().run_pass(world=world)


def test_what_engines_declare_of_parts_is_compared_with_their_classes():
    assert [name for name, engine in ENGINES.items() if engine.in_parts] == ["mixing", "master-worker", "cascade"]

    class Wrong(Mixing):
        in_parts = False

    with pytest.raises(InputError, match=r"declares in_parts = False, and a C\+\+ class .* works in parts"):
        check_native(Wrong)


def test_arrays_of_a_learner_of_another_kind_are_refused():
    plain = Training(chains(), find_algorithm("perceptron", engine={"name": "mixing", "shards": 2}))
    averaged = dataclasses.replace(plain, algorithm=find_algorithm("ipm", engine={"shards": 2}))
    assert plain.algorithm.learner == Perceptron(averaged=False)
    with pytest.raises(ValueError, match="the answer of part 0 to 'train' cannot be used: 'shard_deltas' do not fit"):
        plain.engine().run_pass(world=averaged.world(2))
    assert sent({"a": np.ones(2)})["a"].sum() == 2
