"""Odd data, custom tasks, budgets and interruptions, with every algorithm there is."""

import copy

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.custom_chains import Majority, votes
from support.duals import DUAL_VARIANTS, REPEATABLE, train
from support.oracles import TinyChains
from support.pairs import GENERAL, racing, with_effect
from support.small_tasks import taught_trees
from support.treebanks import TinyTrees

from marginloom.algorithms import ALGORITHMS
from marginloom.tasks.sequence.task import SequenceTask

STOPPED = {"tolerance", "estimate", "iterations", "early"}
NEEDS_K_BEST = [name for name, preset in ALGORITHMS.items() if "k-best" in preset.learner.all_needs()]
#: All but the one that leaves examples out on purpose.
CASES = [*((name, {}) for name in GENERAL if name != "subsample"), *(case for case in DUAL_VARIANTS if case[1])]
every_case = pytest.mark.parametrize(("algorithm", "learner"), CASES, ids=lambda value: str(value))


def check(result):
    """Check what must be true of any result."""
    assert result.stopped in STOPPED
    assert np.isfinite(result.weights).all()
    if result.algorithm.learner.has_dual():
        proof = result.certificate
        assert proof.dual <= proof.primal * (1 + 1e-12) + 1e-12 or not proof.bounded
        assert (result.stopped == ("tolerance" if proof.bounded else "estimate")) == (proof.gap <= 0.01)
    else:
        assert result.certificate is None


def lists(X, y, labels=2, features=3):
    return SequenceTask.from_lists(X, y, feature_count=features, label_count=labels)


def trees(y, words="ab", **options):
    """Make a task of trees of the same words, as many as each tree has."""
    found = TinyTrees(0, lengths=(1,), **options)
    counts = [len(tree) // (2 if found.labels else 1) for tree in y]
    found.X = [[(words[k % len(words)], "NV"[k % 2]) for k in range(count)] for count in counts]
    found.y = list(y)
    found.learn()
    return found.task()


ODD = {
    "one example": lists([[[0], [1]]], [[0, 1]]),
    "one token": lists([[[0]]], [[1]]),
    "one label only": lists([[[0], [1]], [[2]]], [[0, 0], [0]], labels=1),
    "a label that never occurs": lists([[[0], [1]], [[2]]], [[0, 1], [1]], labels=4),
    "sentences without a token": lists([[], [[0], [1]], [], [[2]], []], [[], [0, 1], [], [1], []]),
    "no features": lists([[[], []], [[]]], [[0, 1], [1]]),
    "contradictions": lists([[[0]], [[0]], [[0]]], [[0], [1], [2]], labels=3),
    "the same example often": lists([[[0], [1]]] * 30, [[0, 1]] * 30),
    "trees of one word": trees([(0,), (0,)]),
    "trees of one word with one label": trees([(0, 0), (0, 0)], labels=2),
    "trees without a word": trees([(), (2, 0), (), (0, 1, 2), ()]),
    "trees that contradict each other": trees([(0, 1, 2), (2, 0, 2), (3, 3, 0)]),
    "words that are all the same": trees([(0, 1, 1, 1), (2, 3, 4, 0)], words="a", projective=False),
    "siblings that contradict": trees([(0, 1, 1), (0, 3, 1)], order=2, one_root=False),
    "inexact trees": trees([(3, 4, 0, 3), (2, 0, 2, 3)], order=2, projective=False),
}
NOTHING_TO_LEARN = ("one label only", "trees of one word", "trees of one word with one label")


@pytest.mark.parametrize("kind", ODD)
@every_case
def test_odd_data_are_survived(algorithm, learner, kind):
    if algorithm in NEEDS_K_BEST and "k-best" not in ODD[kind].core.capabilities:
        with pytest.raises(ValueError, match=f"{algorithm} needs k-best inference"):
            train(ODD[kind], algorithm=algorithm, learner=learner)
        return
    result = train(ODD[kind], algorithm=algorithm, learner=learner, max_iter=60)
    check(result)
    if kind in NOTHING_TO_LEARN:
        assert not result.weights.any()
        assert result.updates == 0


@pytest.mark.parametrize(("algorithm", "learner"), [case for case in CASES if case[0] not in racing(1)], ids=str)
def test_examples_of_weight_0_do_not_count(algorithm, learner):
    chains = TinyChains(1, sentences=9, max_length=3)
    weights = np.array([1, 0, 2, 0, 1, 1, 0, 0.5, 1])
    kept = copy.copy(chains)
    chosen = np.flatnonzero(weights)
    kept.X, kept.y, kept.lengths = [chains.X[i] for i in chosen], [chains.y[i] for i in chosen], chains.lengths[chosen]
    options = {"algorithm": algorithm, "learner": learner, "max_iter": 5, "engine": {"shuffle": False}}
    options |= with_effect(algorithm, {"tol": 1e-9})
    if ALGORITHMS[algorithm].learner.name == "fsmo":
        options["learner"] = {"batch": 2, **learner}
    if algorithm in racing(2):
        options["n_threads"] = 1
    whole = train(make_task(chains, "valued"), sample_weight=weights, **options)
    part = train(make_task(kept, "valued"), sample_weight=weights[chosen], **options)
    assert np.abs(whole.weights).max() > 0
    assert whole.weights.tobytes() == part.weights.tobytes()
    assert whole.inferences == part.inferences
    assert whole.updates == part.updates > 0


def task_of(representation):
    if representation == "trees":
        return taught_trees(3, lengths=(2, 3, 3, 3, 4, 4), order=2, labels=3).task()
    return make_task(TinyChains(3, sentences=15, max_length=6, integers=representation == "indicators"), representation)


@pytest.mark.parametrize("representation", ["indicators", "valued", "dense", "trees"])
@pytest.mark.parametrize(("algorithm", "learner"), REPEATABLE, ids=lambda value: str(value))
def test_without_memory_for_differences_the_bits_are_the_same(algorithm, learner, representation):
    task = task_of(representation)
    options = {"algorithm": algorithm, "learner": learner, "loss": "hinge", "C": 0.3, "tol": 1e-9, "max_iter": 8}
    free, least = (train(task, memory=memory, **options) for memory in (None, 1))
    assert free.certificate == least.certificate
    assert free.weights.tobytes() == least.weights.tobytes()
    assert free.updates == least.updates > 0


@pytest.mark.parametrize(("algorithm", "learner"), DUAL_VARIANTS, ids=lambda value: str(value))
def test_implicit_and_stored_differences_lead_to_the_same_optimum(algorithm, learner):
    chains = TinyChains(4, sentences=12, max_length=4, integers=False)
    options = {"algorithm": algorithm, "learner": learner, "loss": "hinge", "C": 0.3, "tol": 1e-3, "max_iter": 40}
    stored, implicit = (train(make_task(chains, how), **options).certificate for how in ("valued", "dense"))
    spread = max(stored.gap, implicit.gap) + 1e-6
    assert implicit.primal == pytest.approx(stored.primal, rel=spread)
    assert implicit.dual <= stored.primal
    assert stored.dual <= implicit.primal


@every_case
def test_a_task_without_k_best_trains_with_all_that_do_not_need_it(algorithm, learner):
    X, Y = votes()
    if algorithm in NEEDS_K_BEST:
        with pytest.raises(ValueError, match=f"{algorithm} needs k-best inference"):
            train(Majority(X, Y), algorithm=algorithm, learner=learner)
        return
    result = train(Majority(X, Y), algorithm=algorithm, learner=learner, max_iter=60)
    check(result)
    scores = result.weights * X
    assert np.mean(scores.argmax(axis=1) == Y) > 0.6


def interrupting(count):
    class Interrupted(Majority):
        __qualname__ = Majority.__qualname__  # what it learns is good for the others
        calls = 0

        def decode(self, encoded):  # called for every difference if there is no memory to keep them
            self.calls += 1
            if self.calls == count:
                raise KeyboardInterrupt
            return super().decode(encoded)

    return Interrupted(*votes())


@pytest.mark.parametrize("count", [1, 7, 40])
@pytest.mark.parametrize(("algorithm", "learner"), DUAL_VARIANTS, ids=lambda value: str(value))
def test_ctrl_c_while_solving_leaves_a_state_to_go_on_from(algorithm, learner, count):
    if (algorithm, learner) == ("one-slack", {"cache": 0}):
        learner = {"cache": 1}  # without a cache nothing is rebuilt
    if (algorithm, learner) == ("bcfw", {}):
        learner = {"inner_passes": 1}
    options = {"algorithm": algorithm, "learner": learner, "loss": "hinge", "C": 1.0, "tol": 0.01, "max_iter": 500}
    result = train(interrupting(count), memory=1, keep_state=True, **{**options, "tol": 1e-9})
    assert result.stopped == "interrupted"
    assert result.certificate is None
    assert np.isfinite(result.weights).all()
    whole = train(Majority(*votes()), **options)
    rest = train(Majority(*votes()), warm_start=result.state, **options)
    assert rest.stopped == whole.stopped
    if whole.stopped == "tolerance":
        assert rest.certificate.primal == pytest.approx(whole.certificate.primal, rel=0.021)
