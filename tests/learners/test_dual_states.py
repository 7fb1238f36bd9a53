"""States of dual learners: going on from them with another C, and refusing broken ones."""

import dataclasses

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.duals import DUAL, DUAL_VARIANTS, REPEATABLE, States, train
from support.oracles import TinyChains, WholeDual

from marginloom import InputError
from marginloom.algorithms import ALGORITHMS

CHAINS = TinyChains(6, sentences=14, max_length=3, integers=False)
#: Features of very different sizes, so that sums of them depend on their order.
UNEVEN = TinyChains(6, sentences=14, max_length=5, integers=False)
UNEVEN.X = [x * np.array([1, 1e-3, 1e-6, 1e-9, 1e-12]) for x in UNEVEN.X]
TASK = make_task(CHAINS, "valued")
LOOSE = {"bcfw": 0.02}
ids = lambda value: str(value)  # noqa: E731


def named(algorithm, learner, loss="hinge"):
    return {"algorithm": algorithm, "learner": learner, "loss": loss}


@pytest.fixture(scope="module")
def optimum():
    found = {}

    def compute(C, loss):
        if (C, loss) not in found:
            found[C, loss] = WholeDual(CHAINS, np.full(len(CHAINS.X), C)).solve(loss)[0]
        return found[C, loss]

    return compute


@pytest.mark.parametrize("C", [0.02, 0.2, 1.0])
@pytest.mark.parametrize(
    ("algorithm", "loss"), [(name, loss) for name in DUAL for loss in ALGORITHMS[name].learner.losses]
)
def test_going_on_with_another_cost_ends_at_its_optimum(optimum, algorithm, C, loss):
    tol = LOOSE.get(algorithm, 1e-3)
    start = train(TASK, C=0.2, tol=tol, max_iter=2000, keep_state=True, **named(algorithm, {}, loss))
    result = train(TASK, C=C, tol=tol, max_iter=2000, warm_start=start.state, **named(algorithm, {}, loss))
    assert result.stopped == "tolerance"
    best = optimum(C, loss)
    assert best * (1 - 1e-5) <= result.certificate.primal <= best * (1 + 2 * tol)
    assert result.certificate.dual <= best * (1 + 1e-5)
    if C == 0.2:
        assert result.iterations < start.iterations


def broken(array):
    """Yield every way to break an array that must be noticed or do no harm."""
    yield "missing", None
    yield "empty", array[:0].copy()
    yield "one too few", array[:-1].copy()
    yield "one too many", np.append(array, array[-1:] if array.size else np.zeros(1, array.dtype))
    yield "single precision", array.astype(np.float32)
    yield "signed", array.astype(np.int32)
    yield "two dimensions", array.reshape(1, -1).copy()
    if array.dtype == np.float64:
        for bad in (np.nan, np.inf, -np.inf, -1.0, 1e300):
            yield f"first {bad}", np.concatenate([[bad], array[1:]])
            yield f"all {bad}", np.full_like(array, bad)
        yield "as counts", np.abs(array).astype(np.uint64)
    else:
        top = np.iinfo(array.dtype).max
        for bad in (0, 1, top // 2 + 1, top):
            yield f"first {bad}", np.concatenate([[bad], array[1:]]).astype(array.dtype)
            yield f"all {bad}", np.full_like(array, bad)
        yield "descending", array[::-1].copy()
        yield "as numbers", array.astype(np.float64)


#: Must be refused wherever they differ from the good array, whatever the array is.
ALWAYS_REFUSED = ("missing", "single precision", "signed", "two dimensions", "as numbers", "as counts", "all nan")


@pytest.fixture(scope="module")
def states(optimum):
    def make(algorithm, learner):
        result = train(TASK, C=0.2, tol=1e-9, max_iter=4, keep_state=True, **named(algorithm, learner))
        return result.state

    return {ids(case): make(*case) for case in DUAL_VARIANTS}


def attempt(state, case):
    """Return the result of going on, or why that was refused."""
    try:
        return train(TASK, C=0.2, tol=1e-9, max_iter=2, warm_start=state, **named(*case))
    except InputError as error:
        return error


@pytest.mark.parametrize("case", DUAL_VARIANTS, ids=ids)
def test_broken_arrays_are_refused_or_do_no_harm(optimum, states, case):
    state = states[ids(case)]
    best = optimum(0.2, "hinge")
    refused = 0
    for name, array in state.arrays.items():
        for kind, changed in broken(array):
            arrays = {**state.arrays, name: changed}
            if changed is None:
                arrays.pop(name)
            elif changed.dtype == array.dtype and np.array_equal(changed, array):
                continue
            result = attempt(dataclasses.replace(state, arrays=arrays), case)
            if isinstance(result, InputError):
                refused += 1
                assert "\n" not in str(result)
                continue
            about = f"{name}: {kind}"
            # A run of the same learner that spares no searches has no rests; then all examples are searched again. One
            # that made few steps for its number of weights, or does not average, has no mean.
            # Newton's method goes on with states of dual coordinate descent, which have no reach.
            may_be_missing = name in ("rests", "sweep_average", "proximal_reach") and kind == "missing"
            assert kind not in ALWAYS_REFUSED or name == "weights" or may_be_missing, about
            assert np.isfinite(result.weights).all(), about
            assert result.certificate.dual <= best * (1 + 1e-5), about
            assert result.certificate.primal >= best * (1 - 1e-5), about
    assert refused > 8 * len(state.arrays) / 2


def test_states_of_another_learner_are_refused(states):
    for case in DUAL_VARIANTS:
        for other in ("dcd-ssvm", "bcfw", "one-slack"):
            state = states[ids(case)]
            if state.learner == states[ids((other, {}))].learner:
                continue
            with pytest.raises(InputError, match="the state to start from is one of the learner"):
                train(TASK, C=0.2, max_iter=1, warm_start=state, **named(other, {}))


@pytest.mark.parametrize("case", REPEATABLE, ids=ids)
@pytest.mark.parametrize("representation", ["valued", "dense"])
def test_a_state_goes_on_bit_for_bit(case, representation):
    task = make_task(UNEVEN, representation)
    states = States()
    options = {"C": 0.2, "tol": 1e-9, **named(*case)}
    whole = train(task, max_iter=7, callbacks=[states], **options)
    passes = min(4, len(states.states) - 1)  # one variant ends early
    rest = train(task, max_iter=7 - passes, warm_start=states.states[passes - 1], **options)
    assert rest.certificate == whole.certificate
    assert rest.weights.tobytes() == whole.weights.tobytes()
