"""Probabilities of every task against enumeration."""

import itertools

import numpy as np
import pytest
from support.derivations import TinyDerivations
from support.enumerated import ENUMERATED
from support.label_sets import TinySets
from support.small_tasks import taught_trees

from marginloom import InputError, _core
from marginloom.core.marginals import NO_CHOICE, Outputs, Tempering

TEMPERATURES = [0.2, 1.0, 7.0]


@pytest.fixture(scope="module", params=ENUMERATED)
def small(request):
    return ENUMERATED[request.param](31)


def offsets_of(small, seed=5):
    """Random offsets where the task has some."""
    count = small.task.core.offset_count
    return np.random.default_rng(seed).normal(size=count) if count else None


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_choices_are_as_probable_as_the_outputs_that_make_them(small, temperature):
    w, weights = small.weights(1)
    offsets = offsets_of(small)
    tables = small.task.tables(weights, Tempering(temperature, offsets))
    assert len(tables) == len(small.oracle.X)
    for i, table in enumerate(tables):
        logs = small.log_probabilities(i, w, temperature, offsets)
        np.testing.assert_allclose(table, small.table(i, table.shape, logs), atol=1e-10)
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_outputs_and_their_parts_have_their_log_probabilities(small, temperature):
    w, weights = small.weights(2)
    offsets = offsets_of(small)
    every = [small.outputs(i) for i in range(len(small.oracle.X))]
    bounds = np.cumsum([0, *map(len, every)]).astype(np.uint64)
    choices = np.concatenate([rows.ravel() for rows in every]).astype(np.uint32)
    tempering = Tempering(temperature, offsets)
    parts, wholes = small.task.marginals(weights, tempering, Outputs(choices, bounds))
    tables = small.task.tables(weights, tempering)
    place = 0
    for i, rows in enumerate(every):
        logs = small.log_probabilities(i, w, temperature, offsets)
        np.testing.assert_allclose(wholes[int(bounds[i]) : int(bounds[i + 1])], logs, rtol=1e-9, atol=1e-9)
        expected = np.take_along_axis(tables[i], rows.T, axis=1).T.ravel()
        np.testing.assert_allclose(np.exp(parts[place : place + rows.size]), expected, atol=1e-10)
        place += rows.size


@pytest.mark.parametrize("size", [1e-6, 1e3, 1e6])
def test_scores_of_any_size_overflow_nowhere(small, size):
    w, weights = small.weights(3, size)
    for i, table in enumerate(small.task.tables(weights, Tempering())):
        assert np.isfinite(table).all()
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-9)
        np.testing.assert_allclose(table, small.table(i, table.shape, small.log_probabilities(i, w)), atol=1e-8)


def test_threads_and_several_temperatures_change_no_bit(small):
    weights = small.weights(4)[1]
    gold = small.task.choices(small.task.core.predict(weights))
    alone = [small.task.log_likelihoods(weights, [t], None, Outputs(gold))[0] for t in TEMPERATURES]
    together = small.task.log_likelihoods(weights, TEMPERATURES, None, Outputs(gold), 3)
    assert together.tobytes() == np.stack(alone).tobytes()


def test_predictions_become_the_choices_of_the_best_output(small):
    w, weights = small.weights(5)
    found = small.task.choices(small.task.core.predict(weights))
    for i, own in enumerate(np.split(found, np.cumsum(small.task.core.part_counts.astype(int))[:-1])):
        logs = small.log_probabilities(i, w)
        (place,) = np.flatnonzero((small.outputs(i) == own).all(axis=1))
        assert logs[place] == pytest.approx(logs.max(), abs=1e-9)


def test_the_last_examples_can_be_asked_for_alone(small):
    weights = small.weights(6)[1]
    counts = small.task.core.part_counts.astype(int)
    gold = small.task.choices(small.task.core.predict(weights))
    whole = small.task.log_likelihoods(weights, [1.0], None, Outputs(gold))[0]
    first = len(counts) - 1
    last = small.task.log_likelihoods(weights, [1.0], None, Outputs(gold[counts[:first].sum() :]), first=first)[0]
    assert last.tolist() == whole[counts[:first].sum() :].tolist()


def test_what_makes_no_choice_has_no_probability(small):
    weights = small.weights(7)[1]
    gold = small.task.choices(small.task.core.predict(weights))
    gold[0] = NO_CHOICE
    parts, wholes = small.task.marginals(weights, Tempering(), Outputs(gold))
    for logs in (parts, wholes):
        assert np.isnan(logs[0])
        assert np.isfinite(logs[1:]).all()


def test_wrong_requests_are_refused_in_a_sentence(small):
    weights, core = small.weights(8)[1], small.task.core
    gold = small.task.choices(core.predict(weights))

    def ask(**changes):
        request = {"scales": np.ones(1), "offsets": None, "outputs": gold, "example_bounds": None}
        return core.marginals(weights, _core.MarginalRequest(**{**request, "tables": False, "first": 0, **changes}))

    beyond = gold.copy()
    beyond[0] = 10_000_000
    for changes, text in [
        ({"scales": np.zeros(1)}, "positive and finite"),
        ({"scales": np.array([np.nan])}, "positive and finite"),
        ({"offsets": np.zeros(3)}, "offsets, not 3"),
        ({"outputs": gold[:-1]}, "every part of every output"),
        ({"outputs": np.append(gold, gold[-1:])}, "every part of every output"),
        ({"outputs": beyond}, "beyond the last one"),
        ({"example_bounds": np.array([0, 1], np.uint64)}, "bounds of the outputs"),
        ({"scales": np.ones(2), "tables": True}, "one temperature"),
    ]:
        with pytest.raises(ValueError, match=text):
            ask(**changes)
    with pytest.raises(ValueError, match="weights, not"):
        core.marginals(
            weights[1:],
            _core.MarginalRequest(
                scales=np.ones(1), offsets=None, outputs=gold, example_bounds=None, tables=False, first=0
            ),
        )


def test_searches_that_are_not_exact_have_none_and_say_why():
    cyclic = TinySets(1, labels=4, pairs=list(itertools.combinations(range(4), 2)))
    trees = taught_trees(2, order=2, projective=False, lengths=(2, 3))
    searched = [
        (cyclic.task(), "have cycles"),
        (trees.task(), "order 1 or with projective"),
        (TinyDerivations(3, lengths=(2, 3)).task(), "method graph"),
    ]
    for task, text in searched:
        assert not task.core.has_marginals
        with pytest.raises(InputError, match=text) as caught:
            task.tables(np.zeros(task.core.dimension), Tempering())
        assert "\n" not in str(caught.value)
