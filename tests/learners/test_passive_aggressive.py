"""The passive-aggressive variants against their closed forms."""

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.online import candidates, replay
from support.oracles import TinyChains

from marginloom import InputError, PassiveAggressive
from marginloom.training.train import train

C = 0.05
FORMS = {
    "pa": lambda violation, norm, _: violation / norm,
    "pa-i": lambda violation, norm, cost: min(cost, violation / norm),
    "pa-ii": lambda violation, norm, cost: violation / (norm + 1 / (2 * cost)),
}


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("loss_augmented", [False, True])
@pytest.mark.parametrize("variant", FORMS)
def test_training_equals_a_replay_of_the_closed_form(variant, loss_augmented, averaged):
    chains = TinyChains(1, sentences=10, labels=3, max_length=4, integers=False)
    task = make_task(chains, "valued")
    weights = np.random.default_rng(0).uniform(0.3, 2, size=10)

    def step(i, w):
        losses, differences = candidates(task, i, w, float(loss_augmented))
        for loss, d in zip(losses, differences, strict=True):
            violation = loss - w @ d
            if violation > 1e-9 and d.any():
                w = w + FORMS[variant](violation, d @ d, C * weights[i]) * d
        return w

    expected = replay(task, range(10), 4, step)[averaged]
    learner = {"variant": variant, "loss_augmented": loss_augmented, "averaged": averaged}
    options = {"C": C, "max_iter": 4, "engine": {"shuffle": False}, "sample_weight": weights}
    result = train(task, algorithm="passive-aggressive", learner=learner, **options)
    assert np.abs(result.weights - expected).max() < 1e-9
    assert result.updates > 5


@pytest.mark.parametrize("representation", ["indicators", "valued", "dense"])
@pytest.mark.parametrize("averaged", [False, True])
def test_mira_with_one_candidate_is_pa_i_bit_for_bit(representation, averaged):
    chains = TinyChains(2, sentences=30, labels=4, max_length=6, integers=representation == "indicators")
    mira, passive_aggressive = (
        train(make_task(chains, representation), algorithm=name, C=C, learner={"averaged": averaged})
        for name in ("mira", "passive-aggressive")
    )
    assert mira.weights.tobytes() == passive_aggressive.weights.tobytes()
    assert mira.updates == passive_aggressive.updates > 0


def test_mira_without_slack_is_pa():
    chains = TinyChains(2, sentences=30, labels=4, max_length=6, integers=False)
    hard = train(make_task(chains, "valued"), algorithm="mira", C=C, learner={"unbounded": True})
    closed = train(make_task(chains, "valued"), algorithm="passive-aggressive", C=C, learner={"variant": "pa"})
    assert hard.weights.tobytes() == closed.weights.tobytes()


def test_variants_differ():
    chains = TinyChains(2, sentences=30, labels=4, max_length=6, integers=False)
    task = make_task(chains, "valued")
    found = {
        train(task, algorithm="passive-aggressive", C=C, learner={"variant": variant}).weights.tobytes()
        for variant in FORMS
    }
    assert len(found) == 3


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError, match="variant must be pa, pa-i or pa-ii, not 'pa-iii'"):
        PassiveAggressive(variant="pa-iii")
    with pytest.raises(InputError, match="loss_augmented must be true or false"):
        PassiveAggressive(loss_augmented="yes")
