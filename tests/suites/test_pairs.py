"""Which engine can drive which learner: what they declare leads to these pairs and no others."""

import pytest

from marginloom import InputError, find_algorithm
from marginloom.algorithms import ALGORITHMS, engines_of
from marginloom.engines import ENGINES
from marginloom.learners import LEARNERS
from marginloom.learners.base import OFFERS

PAIRS = {
    "dcd": ["serial", "master-worker", "decoupled", "shared", "pipelined"],
    "n-slack": ["serial", "master-worker"],
    "cpd": ["serial", "master-worker"],
    "one-slack": ["serial", "master-worker"],
    "frank-wolfe": ["serial", "master-worker"],
    "fsmo": ["serial", "shared", "cascade"],
    "newton": ["serial"],
    "binary-dcd": ["serial"],
    "perceptron": ["serial", "minibatch", "mixing", "subsample"],
    "mira": ["serial", "minibatch", "mixing", "subsample"],
    "passive-aggressive": ["serial", "mixing", "subsample"],
    "sgd": ["serial", "subsample"],
}


def test_the_pairs():
    assert {name: list(engines_of(learner)) for name, learner in LEARNERS.items()} == PAIRS


def test_nothing_is_offered_or_required_that_has_no_words():
    offered = frozenset().union(*(learner.offers for learner in LEARNERS.values()))
    required = frozenset().union(*(engine.requires for engine in ENGINES.values()))
    assert offered == required == OFFERS.keys()


@pytest.mark.parametrize("algorithm", ["label-dcd", "dcd-ssvm", "perceptron"])
def test_an_engine_that_there_was_is_an_error_that_names_what_took_its_place(algorithm):
    for given in ("columns", {"name": "columns"}):
        with pytest.raises(InputError, match=r"^there is no engine 'columns' any more: .* the algorithm label-dcd \("):
            find_algorithm(algorithm, engine=given)


@pytest.mark.parametrize(
    ("algorithm", "engine", "said"),
    [
        ("sgd", "minibatch", "minibatch needs one step from what was found in a batch of examples"),
        ("dcd-ssvm", "mixing", "mixing drives online learners, and dcd is dual"),
        ("mira", "shared", "shared drives dual learners, and mira is online"),
        ("label-dcd", "shared", "binary-dcd makes whole passes by itself, which shared does not drive"),
    ],
)
def test_a_pair_that_there_is_not_is_an_error_that_says_why(algorithm, engine, said):
    learner = ALGORITHMS[algorithm].learner
    engines = ", ".join(PAIRS[learner.name])
    with pytest.raises(InputError) as caught:
        find_algorithm(algorithm, engine=engine)
    assert (
        str(caught.value) == f"the learner {learner.name} has no engine {engine}; its engines are: {engines} ({said})"
    )
