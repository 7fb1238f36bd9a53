"""Checkpoints and warm starts of tasks in plain Python."""

import pytest
from support.custom_chains import EnumeratedChains, Majority, tiny, votes
from support.killing import KillAfter, Killed
from support.pairs import with_effect

from marginloom import Checkpoint, InputError, train

C = 0.7


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_a_run_resumed_from_its_checkpoint_ends_with_the_same_bits(algorithm, tmp_path):
    chains = tiny(sentences=10)
    options = with_effect(algorithm, {"algorithm": algorithm, "C": C, "tol": 1e-12})
    whole = train(EnumeratedChains(chains), max_iter=6, **options)
    checkpoint = Checkpoint(tmp_path, interval=0)
    with pytest.raises(Killed):
        train(EnumeratedChains(chains), max_iter=6, checkpoint=checkpoint, callbacks=[KillAfter(5)], **options)
    rest = train(EnumeratedChains(chains), max_iter=6, checkpoint=checkpoint, resume=True, **options)
    assert rest.weights.tobytes() == whole.weights.tobytes()
    assert rest.certificate == whole.certificate


def test_a_checkpoint_is_refused_for_other_inputs(tmp_path):
    X, Y = votes()
    checkpoint = Checkpoint(tmp_path, interval=0)
    train(Majority(X, Y), tol=1e-12, max_iter=3, checkpoint=checkpoint)
    with pytest.raises(InputError, match="with other features"):
        train(Majority(X + 1, Y), tol=1e-12, max_iter=4, checkpoint=checkpoint, resume=True)
    with pytest.raises(InputError, match="with other examples"):
        train(Majority(X, [*Y[:-1], (Y[-1] + 1) % 3]), tol=1e-12, max_iter=4, checkpoint=checkpoint, resume=True)


def test_warm_start_carries_the_duals_and_a_small_budget_of_memory_changes_nothing():
    chains = tiny(sentences=10)
    first = train(EnumeratedChains(chains), C=C, tol=1e-3, max_iter=500, keep_state=True)
    again = train(EnumeratedChains(chains), C=C, tol=1e-3, max_iter=1, warm_start=first.state)
    assert again.stopped == "tolerance"
    small = train(EnumeratedChains(chains), C=C, tol=1e-3, max_iter=500, memory=1)
    assert small.weights.tobytes() == first.weights.tobytes()


def test_outputs_of_a_state_that_do_not_fit_are_refused():
    X, Y = votes()
    state = train(Majority(X, Y), max_iter=2, keep_state=True).state
    state.arrays["dual_outputs"][:] = 255
    with pytest.raises(InputError, match="the state to start from does not fit: these bytes are not an encoded output"):
        train(Majority(X, Y), warm_start=state)
