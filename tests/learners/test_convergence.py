"""The rules by which online learners tell that they have converged."""

import itertools

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.killing import KillAfter, Killed
from support.online import ONLINE
from support.oracles import TinyChains

from marginloom import Checkpoint, InputError, Perceptron, SequenceTagger, make_tagging
from marginloom.training.train import train

WORDS, TAGS = make_tagging(60, seed=0)


def tagger(algorithm="averaged-perceptron", **learner):
    return SequenceTagger(algorithm, features="words", max_iter=60, learner=learner)


def test_a_separated_training_set_stops_the_perceptron():
    found = tagger(stop_separated=True).fit(WORDS, TAGS)
    assert found.stopped_ == "separated"
    assert [row["wrong"] == 0 for row in found.history_] == [False] * (found.n_iter_ - 1) + [True]
    assert found.history_[-1]["training_loss"] == 0
    assert found.history_[-1]["updates"] == found.history_[-2]["updates"]


def test_unchanged_loss_over_three_passes_stops():
    threshold = 0.02
    found = tagger(stop_unchanged=threshold).fit(WORDS, TAGS)
    assert found.stopped_ == "unchanged"
    losses = [row["training_loss"] for row in found.history_]
    small = [abs(later - earlier) <= threshold for earlier, later in itertools.pairwise(losses)]
    assert small[-3:] == [True] * 3
    assert not any(all(small[j : j + 3]) for j in range(len(small) - 3))


def test_rules_are_off_by_default():
    chains = TinyChains(0, sentences=3)
    result = train(make_task(chains, "valued"), algorithm="perceptron", max_iter=50)
    assert result.trace.rows[-1]["wrong"] == 0
    assert (result.stopped, result.iterations) == ("iterations", 50)


@pytest.mark.parametrize("learner", [{"stop_separated": True}, {"stop_unchanged": 0.02}])
def test_a_resumed_run_stops_where_the_whole_one_does(tmp_path, learner):
    whole = tagger(**learner).fit(WORDS, TAGS)
    for iteration in range(2, whole.n_iter_ + 1):
        with pytest.raises(Killed):
            tagger(**learner).fit(
                WORDS, TAGS, checkpoint=Checkpoint(tmp_path, interval=0), callbacks=[KillAfter(iteration)]
            )
        rest = tagger(**learner).fit(WORDS, TAGS, checkpoint=tmp_path, resume=True)
        assert (rest.stopped_, rest.n_iter_) == (whole.stopped_, whole.n_iter_)
        assert rest.tagger_.weights.tobytes() == whole.tagger_.weights.tobytes()


@pytest.mark.parametrize(("algorithm", "learner"), ONLINE)
def test_every_online_learner_has_the_rules(algorithm, learner):
    task = make_task(TinyChains(1, sentences=10), "valued")
    found = train(task, algorithm=algorithm, learner={**learner, "stop_unchanged": 1e9}, max_iter=20)
    assert (found.stopped, found.iterations) == ("unchanged", 4)


@pytest.mark.parametrize(("algorithm", "learner"), ONLINE)
def test_a_warm_start_repeats_an_uninterrupted_run(algorithm, learner):
    chains = TinyChains(4, sentences=30, max_length=6, integers=False)
    options = {"algorithm": algorithm, "learner": learner, "random_state": 3}
    whole = train(make_task(chains, "valued"), max_iter=6, **options)
    half = train(make_task(chains, "valued"), max_iter=3, keep_state=True, **options)
    rest = train(make_task(chains, "valued"), max_iter=3, warm_start=half.state, **options)
    assert rest.weights.tobytes() == whole.weights.tobytes()
    assert rest.chosen == whole.chosen


@pytest.mark.parametrize(("algorithm", "learner"), ONLINE)
def test_same_seed_same_bits_and_another_seed_other_bits(algorithm, learner):
    task = make_task(TinyChains(4, sentences=30, max_length=6, integers=False), "valued")
    runs = [train(task, algorithm=algorithm, learner=learner, random_state=seed) for seed in (1, 1, 2)]
    assert runs[0].weights.tobytes() == runs[1].weights.tobytes() != runs[2].weights.tobytes()
    assert np.isfinite(runs[0].weights).all()


def test_wrong_values_are_refused():
    with pytest.raises(InputError, match="stop_unchanged must be a number, 0 or more, not -1"):
        Perceptron(stop_unchanged=-1)
    with pytest.raises(InputError, match="stop_separated must be true or false"):
        Perceptron(stop_separated="yes")
    with pytest.raises(InputError, match="dcd-ssvm has no parameter 'stop_separated'"):
        tagger("dcd-ssvm", stop_separated=True).fit(WORDS, TAGS)
