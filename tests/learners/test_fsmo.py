"""FSMO: what makes it converge, what was published, and its rules to stop early."""

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.duals import differences, duals_of, eighths
from support.oracles import TinyChains

from marginloom import InputError
from marginloom.training.train import train

CHAINS = TinyChains(2, sentences=60, max_length=1, labels=5, features=6)
IN_ORDER = {"shuffle": False}


def trained(chains=CHAINS, **options):
    learner = options.pop("learner", {})
    options = {"C": 2.0, "tol": 5e-4, "max_iter": 300, **options}
    return train(make_task(chains, "valued"), algorithm="fsmo", learner=learner, **options)


def test_as_published_it_stalls_where_pairwise_steps_reach_the_optimum():
    converged = trained()
    assert converged.stopped == "tolerance"
    assert converged.certificate.gap < 0.001
    stalled = trained(learner={"variant": "as-published"})
    assert stalled.stopped == "early"
    assert stalled.certificate.gap > 0.05
    assert stalled.certificate.dual < 0.98 * converged.certificate.dual
    last = [row["dual"] for row in stalled.trace.rows[-2:]]
    assert last[0] == pytest.approx(last[1], rel=1e-12)
    again = trained(learner={"variant": "as-published", "inner_stop": True, "outer_stop": True})
    assert again.stopped == "early"


def test_as_published_every_dual_that_may_move_alone_satisfies_equation_3():
    epsilon = 0.1
    chains = eighths(TinyChains(3, sentences=30, max_length=2, integers=False))
    result = trained(chains, C=0.5, learner={"variant": "as-published", "epsilon": epsilon}, keep_state=True)
    assert result.stopped == "early"
    duals = duals_of(result.state.arrays)
    sums = np.zeros(len(chains.X))
    for (i, _), dual in duals.items():
        sums[i] += dual
    assert (sums <= 0.5 + 1e-9).all()
    for (i, labels), dual in duals.items():
        loss, difference = differences(chains, i, labels)
        violation = loss - result.weights @ difference
        if sums[i] < 0.5 - 1e-9:  # it could rise
            assert violation <= epsilon
        if dual > 0:  # it could fall
            assert violation >= -epsilon


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_the_conditions_of_optimality_hold_for_every_output(C):
    chains = eighths(TinyChains(4, sentences=12, max_length=3, integers=False))
    result = trained(chains, C=C, tol=1e-7, max_iter=1000, keep_state=True)
    assert result.stopped == "tolerance"
    duals = duals_of(result.state.arrays)
    used_up = 0
    for i in range(len(chains.X)):
        violations = {}
        for labels in chains.outputs(i):
            loss, difference = differences(chains, i, labels)
            violations[labels] = loss - result.weights @ difference
        slack = max(0.0, *violations.values())
        own = {labels: dual for (j, labels), dual in duals.items() if j == i and dual > 1e-6 * C}
        for labels in own:
            assert violations[labels] == pytest.approx(slack, abs=1e-3)
        if sum(own.values()) < C * (1 - 1e-3):
            assert slack < 1e-3
        else:
            used_up += 1
    assert used_up > 0


def test_ending_inner_solutions_early_takes_fewer_updates():
    hasty = {"inner_stop": True, "inner_iterations": 1, "inner_change": 1e9, "inner_times": 1, "inner_share": 0.0}
    patient = {**hasty, "inner_stop": False}
    counts = [trained(max_iter=1, tol=1e-12, learner={"batch": 20, **how}).updates for how in (hasty, patient)]
    assert counts[0] < 0.8 * counts[1]
    often = trained(max_iter=1, tol=1e-12, learner={"batch": 20, **hasty, "inner_times": 3}).updates
    assert counts[0] < often < counts[1]
    late = trained(max_iter=1, tol=1e-12, learner={"batch": 20, **hasty, "inner_iterations": 5}).updates
    assert counts[0] < late <= counts[1]
    never = trained(max_iter=1, tol=1e-12, learner={"batch": 20, **hasty, "inner_times": 10**6}).updates
    assert never == counts[1]


def test_the_less_of_the_gap_a_sweep_must_gain_the_more_a_pass_gains():
    stopping = {"inner_stop": True, "inner_iterations": 10**6}
    runs = [trained(max_iter=4, tol=1e-12, learner={**stopping, "inner_share": share}) for share in (10.0, 0.001, 0.0)]
    updates = [run.updates for run in runs]
    assert updates[0] < updates[1] < updates[2]
    assert runs[0].certificate.dual < runs[1].certificate.dual
    patient = trained(max_iter=4, tol=1e-12, learner={"inner_stop": False, "inner_share": 10.0})
    assert patient.weights.tobytes() == runs[2].weights.tobytes()


def test_solving_all_after_every_batch_takes_more_updates():
    of_batch, of_all = (trained(max_iter=1, tol=1e-12, learner={"scope": scope}).updates for scope in ("batch", "all"))
    assert of_all > of_batch > 0


def test_hardly_any_change_of_the_dual_ends_training_early():
    full = trained(tol=1e-6)
    assert full.stopped == "tolerance"
    for change in (0.1, 0.001):
        result = trained(tol=1e-6, learner={"outer_stop": True, "outer_change": change})
        assert result.stopped == "early"
        assert result.iterations < full.iterations
        duals = [row["dual"] for row in full.trace.rows[: result.iterations]]
        changes = np.diff(duals) / duals[:-1]
        assert changes[-1] < change
        assert (changes[:-1] >= change).all()
        assert result.certificate.gap > 1e-6


def test_the_defaults_are_those_of_the_paper():
    learner = trained(max_iter=1).algorithm.learner
    assert (learner.epsilon, learner.inner_iterations, learner.inner_change, learner.inner_times) == (0.1, 2000, 0.1, 5)
    assert learner.outer_change == 0.001


@pytest.mark.parametrize(("sentences", "batch", "other"), [(250, 2, 3), (50, 1, 2)])
def test_batches_are_a_hundredth_of_the_examples_and_at_least_one(sentences, batch, other):
    chains = TinyChains(1, sentences=sentences, max_length=1, labels=3, features=8)
    default, same, different = (
        trained(chains, max_iter=2, tol=1e-12, learner={"batch": count}).weights.tobytes()
        for count in (0, batch, other)
    )
    assert default == same
    assert default != different


@pytest.mark.parametrize(
    ("name", "value"),
    [("variant", "pairs"), ("epsilon", 0), ("batch", -1), ("inner_times", 0), ("outer_change", float("nan"))],
)
def test_wrong_parameters_are_refused_in_one_sentence(name, value):
    with pytest.raises(InputError, match=rf"^{name} must be .*, not ") as caught:
        trained(learner={name: value})
    assert "\n" not in str(caught.value)
