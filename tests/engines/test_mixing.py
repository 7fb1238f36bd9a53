"""Parameter mixing against plain numpy, the theorem that separates its two kinds, and itself with more threads."""

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.custom_chains import EnumeratedChains, Majority, Watched, at_call, votes
from support.online import candidates
from support.oracles import TinyChains
from support.pairs import with_effect

from marginloom import SGD, CustomTask, InputError, Perceptron, find_algorithm
from marginloom.engines import Mixing, Subsample
from marginloom.engines.base import Job
from marginloom.learners.base import CommonOptions
from marginloom.training.train import train


def perceptron_step(task, i, w):
    _, differences = candidates(task, i, w, 0.0)
    return (w + differences[0], True) if len(differences) else (w, False)


def pa_step(task, i, w, C=0.3):
    losses, differences = candidates(task, i, w, 0.0)
    if not len(differences) or not differences[0].any():
        return w, len(differences) > 0
    size = min(C, (losses[0] - w @ differences[0]) / (differences[0] @ differences[0]))
    return w + size * differences[0], True


def replay(task, shards, passes, inner_epochs, by_errors, step):
    """Return mixed weights and average after every pass, keeping every weight vector that any shard ever had."""
    base = np.zeros(task.core.dimension)
    history = [[] for _ in shards]  # of weights after each example, of all rounds
    after = []
    own, errors, epoch = [base] * len(shards), [0] * len(shards), 0
    for _ in range(passes):
        for s, shard in enumerate(shards):
            for i in shard:
                own[s], wrong = step(task, i, own[s])
                errors[s] += wrong
                history[s].append(own[s])
        uniform = not by_errors or sum(errors) == 0
        mu = [1 / len(shards) if uniform else k / sum(errors) for k in errors]
        mixed = sum(m * w for m, w in zip(mu, own, strict=True))
        if inner_epochs == 0:
            average = sum(m * np.mean(seen, axis=0) for m, seen in zip(mu, history, strict=True))
        else:
            average = np.mean([w for seen in history for w in seen], axis=0)
        after.append((mixed, average))
        epoch += 1
        if epoch == inner_epochs:
            own, errors, epoch = [mixed] * len(shards), [0] * len(shards), 0
    return after


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("mixing", ["uniform", "errors"])
@pytest.mark.parametrize("inner_epochs", [0, 1, 2, 3])
@pytest.mark.parametrize("representation", ["valued", "dense"])
@pytest.mark.parametrize("algorithm", ["perceptron", "passive-aggressive"])
def test_weights_after_every_pass_equal_a_replay(algorithm, representation, inner_epochs, mixing, averaged):
    chains = TinyChains(inner_epochs, sentences=17, labels=3, max_length=5, integers=False)
    task = make_task(chains, representation)
    shards = np.split(np.arange(17), [4, 8, 12])  # 17 into 4: contiguous runs whose sizes differ by one at most
    step = perceptron_step if algorithm == "perceptron" else pa_step
    expected = replay(make_task(chains, "valued"), shards, 7, inner_epochs, mixing == "errors", step)
    seen = []
    engine = Mixing(shards=4, sharding="contiguous", mixing=mixing, inner_epochs=inner_epochs, shuffle=False)
    train(
        task,
        algorithm=algorithm,
        **with_effect(algorithm, {"C": 0.3}),
        learner={"averaged": averaged},
        engine=engine,
        max_iter=7,
        n_threads=2,
        evaluations={"weights": lambda w: seen.append(w.copy()) or {}},
    )
    for weights, pair in zip(seen, expected, strict=True):
        assert np.abs(weights - pair[averaged]).max() < (1e-12 if representation == "valued" else 1e-5)


@pytest.mark.parametrize("averaged", [False, True])
def test_one_shard_is_the_serial_perceptron(averaged):
    chains = TinyChains(5, sentences=25, labels=4, max_length=7)
    task = make_task(chains, "indicators")
    options = {"max_iter": 4, "learner": {"averaged": averaged}}
    one = train(task, algorithm="ipm", engine={"shards": 1, "shuffle": False}, **options)
    serial = train(task, algorithm="averaged-perceptron", engine={"shuffle": False}, **options)
    assert np.abs(one.weights - serial.weights).max() < 1e-12
    assert [row["wrong"] for row in one.trace.rows] == [row["wrong"] for row in serial.trace.rows]
    assert [row["training_loss"] for row in one.trace.rows] == pytest.approx(
        [row["training_loss"] for row in serial.trace.rows]
    )
    assert one.updates == serial.updates


@pytest.mark.parametrize("representation", ["valued", "dense"])
@pytest.mark.parametrize(
    ("algorithm", "learner", "engine"),
    [
        ("ipm", {}, {"mixing": "errors"}),
        ("ipm", {"averaged": False}, {"inner_epochs": 2}),
        ("ipm-mira", {"k_best": 3, "loss_augmented": True}, {}),
        ("parameter-mixing", {}, {}),
    ],
)
def test_any_number_of_threads_gives_the_same_bits(algorithm, learner, engine, representation):
    chains = TinyChains(2, sentences=150, labels=4, max_length=7, integers=False)
    task = make_task(chains, representation)
    options = {"algorithm": algorithm, "learner": learner, "engine": {"shards": 19, **engine}, "max_iter": 5}
    alone = train(task, n_threads=1, **options)
    for threads in (2, 3, 16):
        together = train(task, n_threads=threads, **options)
        assert together.weights.tobytes() == alone.weights.tobytes()
        for name in ("wrong", "training_loss", "updates", "inferences"):
            assert [row[name] for row in together.trace.rows] == [row[name] for row in alone.trace.rows]
        assert len(together.trace.rows[0]["threads"]) == threads


class Theorem2(CustomTask):
    """The four examples of McDonald, Hall and Mann 2010, Theorem 2; block features, ties go to label 1."""

    X = ((1, 1, 0), (0, 0, 1), (0, 1, 1), (1, 0, 0))
    Y = (0, 1, 0, 1)

    def __init__(self):
        super().__init__(list(self.X), list(self.Y), dimension=6)

    def features(self, x, y):
        return np.array([*x, 0, 0, 0] if y == 0 else [0, 0, 0, *x], dtype=float)

    def loss(self, gold, y):
        return float(gold != y)

    def argmax(self, x, w):
        return int(self.features(x, 1) @ w >= self.features(x, 0) @ w)

    def argmax_augmented(self, x, gold, w):
        scores = [self.features(x, y) @ w + self.loss(gold, y) for y in (0, 1)]
        return int(scores[1] >= scores[0])


@pytest.mark.parametrize("mixing", ["uniform", "errors"])
@pytest.mark.parametrize("averaged", [False, True])
def test_theorem_2_parameter_mixing_does_not_separate_what_iterative_mixing_does(averaged, mixing):
    task = Theorem2()
    assert task.predict(np.array([-1.0, 2, -1, 1, -2, 1])) == list(task.Y)  # the set is separable
    engine = {"shards": 2, "sharding": "contiguous", "mixing": mixing, "shuffle": False}
    options = {"max_iter": 100, "n_threads": 2, "learner": {"averaged": averaged}, "engine": engine}
    once = train(task, algorithm="parameter-mixing", **options)
    if not averaged:
        assert once.weights.tolist() == [0.5, 1, 0.5, -0.5, -1, -0.5]  # of [1 1 0 -1 -1 0] and [0 1 1 0 -1 -1]
    assert once.trace.rows[-1]["wrong"] == 0  # each shard is separated by its own weights
    assert task.predict(once.weights) == [0, 0, 0, 0]
    options["learner"] = {"averaged": averaged, "stop_separated": True}
    again = train(task, algorithm="ipm", **options)
    assert again.stopped == "separated"
    if not averaged:
        assert task.predict(again.weights) == list(task.Y)


def test_converged_shards_are_not_searched_again_and_nothing_else_changes():
    task = Theorem2()
    shards = [np.array([0, 1]), np.array([2, 3])]
    expected = replay(task, shards, 30, 0, False, perceptron_step)
    for averaged in (False, True):
        result = train(
            task,
            algorithm="parameter-mixing",
            learner={"averaged": averaged},
            engine={"shards": 2, "sharding": "contiguous", "shuffle": False},
            max_iter=30,
        )
        assert np.abs(result.weights - expected[-1][averaged]).max() < 1e-12
        assert result.inferences < 30


def test_sharding_changes_the_result():
    task = make_task(TinyChains(2, sentences=40, max_length=6), "valued")
    runs = {
        (sharding, seed): train(
            task, algorithm="ipm", engine={"shards": 5, "sharding": sharding, "shuffle": False}, random_state=seed
        ).weights.tobytes()
        for sharding in ("shuffled", "contiguous")
        for seed in (1, 2)
    }
    assert len(set(runs.values())) == 3
    assert runs["contiguous", 1] == runs["contiguous", 2]


def test_default_is_a_shard_for_every_thread():
    task = make_task(TinyChains(2, sentences=40, max_length=6), "valued")
    implied = train(task, algorithm="ipm", n_threads=3)
    given = train(task, algorithm="ipm", engine={"shards": 3})
    assert implied.weights.tobytes() == given.weights.tobytes()
    few = make_task(TinyChains(2, sentences=2), "valued")
    assert len(train(few, algorithm="ipm", n_threads=5).trace.rows[0]["threads"]) == 2


def test_more_shards_than_examples_are_refused():
    task = make_task(TinyChains(2, sentences=4), "valued")
    for algorithm in ("ipm", "parameter-mixing", "subsample"):
        with pytest.raises(InputError, match="shards must be at most the number of training examples, 4, not 5"):
            train(task, algorithm=algorithm, engine={"shards": 5})
    assert train(task, algorithm="ipm", engine={"shards": 4}).iterations == 10
    with pytest.raises(InputError, match="training examples, 3, not 4"):  # those of weight 0 do not count
        train(task, algorithm="ipm", engine={"shards": 4}, sample_weight=[1, 0, 1, 1])


def test_subsample_learns_one_shard_only():
    chains = TinyChains(6, sentences=12, labels=3, max_length=5)
    task = make_task(chains, "valued")
    engine = {"shards": 3, "sharding": "contiguous"}
    sample = train(task, algorithm="subsample", engine=engine, max_iter=3)
    alone = train(task, algorithm="averaged-perceptron", max_iter=3, sample_weight=[1] * 4 + [0] * 8)
    assert sample.weights.tobytes() == alone.weights.tobytes()
    assert sample.inferences == 12


@pytest.mark.parametrize("algorithm", ["ipm", "ipm-mira", "parameter-mixing"])
def test_task_in_plain_python_trains_as_the_native_one_does(algorithm):
    chains = TinyChains(3, sentences=12, max_length=3, integers=False)
    native_task = make_task(chains, "valued")
    options = {"algorithm": algorithm, "max_iter": 3, "n_threads": 2, "engine": {"shards": 2}}
    native = train(native_task, **options)
    custom = train(EnumeratedChains(chains), **options)
    assert custom.updates == native.updates > 0
    assert np.abs(custom.weights - chains.from_core(native.weights, native_task.core.stride)).max() < 1e-5


@pytest.mark.parametrize("engine", [{"inner_epochs": 1}, {"inner_epochs": 3}, {"inner_epochs": 0}])
def test_a_warm_start_repeats_an_uninterrupted_run(engine):
    chains = TinyChains(4, sentences=30, max_length=6, integers=False)
    task = make_task(chains, "valued")
    options = {"algorithm": "ipm", "engine": {"shards": 4, **engine}, "random_state": 3}
    whole = train(task, max_iter=7, **options)
    half = train(task, max_iter=4, keep_state=True, **options)
    rest = train(task, max_iter=3, warm_start=half.state, n_threads=2, **options)
    assert rest.weights.tobytes() == whole.weights.tobytes()
    same = train(task, max_iter=4, keep_state=True, n_threads=3, **options)
    assert {name: array.tobytes() for name, array in same.state.arrays.items()} == {
        name: array.tobytes() for name, array in half.state.arrays.items()
    }


def test_state_of_other_shards_or_from_within_a_round_is_refused():
    task = make_task(TinyChains(4, sentences=30, max_length=6), "valued")
    state = train(task, algorithm="ipm", engine={"shards": 4, "inner_epochs": 3}, max_iter=2, keep_state=True).state
    with pytest.raises(InputError, match="the state has 4 shards, and now there are 3"):
        train(task, algorithm="ipm", engine={"shards": 3, "inner_epochs": 3}, warm_start=state)
    with pytest.raises(InputError, match="within a round of more than 1 epochs"):
        train(task, algorithm="ipm", engine={"shards": 4}, warm_start=state)
    with pytest.raises(InputError, match="no 'weights'"):
        train(task, algorithm="averaged-perceptron", warm_start=state)


def test_damaged_state_is_refused():
    task = make_task(TinyChains(4, sentences=30, max_length=6), "valued")
    options = {"algorithm": "parameter-mixing", "engine": {"shards": 2}}
    state = train(task, max_iter=2, keep_state=True, **options).state
    damages = {
        "shard_deltas": lambda array: array.__setitem__(slice(None), 255),
        "shard_progress": lambda array: array.__setitem__(0, 10**9),
        "round_weights": lambda array: array.__setitem__(0, np.nan),
    }
    for name, damage in damages.items():
        arrays = {key: array.copy() for key, array in state.arrays.items()}
        damage(arrays[name])
        with pytest.raises(InputError, match="does not fit"):
            train(task, warm_start=type(state)(state.learner, state.fingerprint, 2, arrays), **options)


def test_a_pass_after_an_exception_is_as_good_as_any():
    def fail():
        raise KeyError("once")

    task = Watched(at_call(45, fail))
    native = Perceptron(averaged=False).build(task.core, CommonOptions(1.0, "", np.ones(20), memory=0))
    job = Job(task.core, native, np.arange(20, dtype=np.uint64), n_threads=2, seed=0)
    engine = Mixing(shards=3, sharding="contiguous", shuffle=False).build(job)
    reports = []
    while len(reports) < 6:
        try:
            reports.append(engine.run_pass())
        except KeyError:
            continue
    plain = train(
        Majority(*votes()),
        algorithm="perceptron",
        engine=Mixing(shards=3, sharding="contiguous", shuffle=False),
        max_iter=6,
    )
    assert engine.final_weights().tobytes() == plain.weights.tobytes()


def test_memory_is_planned_for_the_copies_that_threads_work_on():
    task = make_task(TinyChains(2, sentences=60), "valued")
    serial, alone, three = (
        train(task, algorithm=algorithm, n_threads=threads, engine=engine, max_iter=1).memory.weights
        for algorithm, threads, engine in (
            ("averaged-perceptron", 3, None),
            ("ipm", 1, {"shards": 4}),
            ("ipm", 3, {"shards": 4}),
        )
    )
    vector = 8 * task.core.dimension
    assert [serial, alone, three] == [3 * vector, 6 * vector, 10 * vector]


def test_wrong_combinations_and_values_are_refused():
    with pytest.raises(InputError, match="sharding must be shuffled or contiguous, not 'random'"):
        Mixing(sharding="random")
    with pytest.raises(InputError, match="mixing must be uniform or errors"):
        Mixing(mixing="loss")
    with pytest.raises(InputError, match="shards must be a whole number"):
        Mixing(shards=-1)
    with pytest.raises(InputError, match="the learner sgd has no engine mixing; its engines are: serial, subsample"):
        find_algorithm("sgd", engine=Mixing())
    with pytest.raises(InputError, match="the learner dcd has no engine subsample"):
        find_algorithm("dcd-ssvm", engine=Subsample())
    task = make_task(TinyChains(2, sentences=6), "valued")
    sgd = SGD(eta0=0.5).build(task.core, CommonOptions(1.0, "hinge", np.ones(6), memory=0))
    job = Job(task.core, sgd, np.arange(6, dtype=np.uint64), n_threads=1, seed=0)
    with pytest.raises(ValueError, match="cannot be mixed"):
        Mixing(shards=1).build(job)
