"""What methods of a task in plain Python return: features in any form, losses, outputs as bytes."""

import math

import numpy as np
import pytest
from scipy import sparse
from support.custom_chains import EnumeratedChains, Majority, tiny, votes

from marginloom import InputError, train

C = 0.7


FORMS = {
    "dict": lambda v: {int(k): v[k] for k in np.flatnonzero(v)},
    "pair": lambda v: (np.flatnonzero(v).astype(np.int32), v[np.flatnonzero(v)].astype(np.float32)),
    "lists, repeated and unsorted": lambda v: (
        [*np.flatnonzero(v)[::-1].tolist(), *np.flatnonzero(v).tolist()],
        [*(v[np.flatnonzero(v)[::-1]] / 2).tolist(), *(v[np.flatnonzero(v)] / 2).tolist()],
    ),
    "csr matrix": lambda v: sparse.csr_matrix(v),
    "csr array": lambda v: sparse.csr_array(v[None, :]),
    "coo, repeated": lambda v: sparse.coo_array(
        (np.tile(v / 2, 2), (np.zeros(2 * v.size, int), np.tile(np.arange(v.size), 2))), shape=(1, v.size)
    ),
    "dense": lambda v: v,
    "dense integers": lambda v: v.astype(int),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_features_gives_the_same_weights(form):
    chains = tiny()

    class Formed(EnumeratedChains):
        def features(self, x, y):
            return FORMS[form](super().features(x, y))

    expected = train(EnumeratedChains(chains), C=C, max_iter=3)
    assert train(Formed(chains), C=C, max_iter=3).weights.tobytes() == expected.weights.tobytes()


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ({3: 1.0}, r"the result has the index 3, and the dimension is 3: 0 to 2 exist"),
        ({-1: 1.0}, r"has the index -1"),
        ({"a": 1.0}, r"has indices that are not integers"),
        ({0.5: 1.0}, r"has indices that are not integers"),
        ({0: math.nan}, r"has the value nan at index 0"),
        ({0: math.inf}, r"has the value inf at index 0"),
        ({0: "x"}, r"has values that are not numbers"),
        (([0, 1], [1.0]), r"has 2 indices and 1 values"),
        (([[0]], [1.0]), r"has indices that are not integers in a row"),
        (([0, [1]], [1.0, 2.0]), r"has indices that are not integers"),
        (([0], 1.0), r"has values that are not numbers in a row"),
        (np.zeros(4), r"has the shape \(4,\) and must have that of the weights, \(3,\)"),
        (np.zeros((1, 3)), r"has the shape \(1, 3\)"),
        (sparse.csr_array(np.zeros((2, 3))), r"has the shape \(2, 3\) and must be one row of the dimension, 3"),
        ([0.0, 0.0, 1.0], r"must be a dict of index and value, .* not \[0.0, 0.0, 1.0\] \(list\)"),
        (None, r"must be a dict of index and value, .* not None"),
    ],
)
def test_unfit_features_are_an_input_error_that_names_the_example(vector, message):
    class Unfit(Majority):
        def features(self, x, y):
            return vector if x[0] == 7 else {y: x[y]}

    with pytest.raises(InputError, match=r"Unfit.features, example 1: .*" + message):
        train(Unfit([(1, 2, 3), (7, 2, 3)], [2, 0]), engine={"shuffle": False})


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, None, "much"])
def test_unfit_loss_is_an_input_error_that_names_the_example(value):
    class Unfit(Majority):
        def loss(self, gold, y):
            return value

        def argmax_augmented(self, x, gold, w):
            return (gold + 1) % 3

    with pytest.raises(InputError, match=r"Unfit.loss, example 0: the result must be a finite number, 0 or more, not"):
        train(Unfit([(1, 2, 3)], [2]))


def test_encode_and_decode_of_ones_own_are_used():
    class Label:
        def __init__(self, number):
            self.number = number

    class Objects(Majority):
        def features(self, x, y):
            return {y.number: x[y.number]}

        def loss(self, gold, y):
            return float(gold.number != y.number)

        def argmax(self, x, w):
            return Label(super().argmax(x, w))

        def argmax_augmented(self, x, gold, w):
            return max(map(Label, range(3)), key=lambda y: w[y.number] * x[y.number] + self.loss(gold, y))

        def encode(self, y):
            return bytes([y.number])

        def decode(self, encoded):
            return Label(encoded[0])

    X, Y = votes()
    expected = train(Majority(X, Y), C=1.0)
    result = train(Objects(X, [Label(y) for y in Y]), C=1.0)
    assert result.weights.tobytes() == expected.weights.tobytes()
    predicted = Objects(X).predict(result.weights)
    assert [label.number for label in predicted] == Majority(X).predict(result.weights)


def test_outputs_that_cannot_be_encoded_are_refused_with_advice():
    X, _ = votes(2)
    with pytest.raises(
        InputError, match=r"is a set, which has no encoding of its own; .* override encode and decode"
    ) as e:
        Majority(X, [{1}, {2}])
    assert e.value.__notes__ == ["in Majority.encode, example 0"]


def test_a_decoded_output_that_encodes_otherwise_is_an_input_error():
    class Lossy(Majority):
        def decode(self, encoded):
            return 0

    X, Y = votes()
    with pytest.raises(InputError, match=r"Lossy.decode, example \d+: bytes that were decoded must encode to the same"):
        train(Lossy(X, Y), memory=1)
