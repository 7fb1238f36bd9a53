"""What the tests of dual learners share: states as plain numbers, differences from enumerated features, small QPs."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize

from marginloom import Callback
from marginloom.training.train import train as train_with
from support.pairs import GENERAL, racing


def train(task, **options):
    """Train on two threads, which every engine can use and serial ones do not need."""
    return train_with(task, **{"n_threads": 2, **options})


DUAL = [name for name, preset in GENERAL.items() if preset.learner.has_dual()]
#: The presets of dual learners, with parameters that change what they hold.
DUAL_VARIANTS = [
    *((name, {}) for name in DUAL),
    ("one-slack", {"cache": 0}),
    ("bcfw", {"averaged": True, "inner_passes": 2}),
    ("fsmo", {"variant": "as-published", "scope": "all"}),
    ("fsmo", {"scope": "all", "batch": 1}),
]
#: Those whose result is the same to the bit in every run.
REPEATABLE = [case for case in DUAL_VARIANTS if case[0] not in racing(2)]
STRIDE = 8  # of rows of weights, up to 8 labels


def eighths(chains):
    """Round the features of random chains to what the library's single precision holds exactly."""
    chains.X = [np.round(x * 8) / 8 for x in chains.X]
    return chains


class States(Callback):
    """Keeps the state after every pass."""

    def __init__(self):
        self.states = []

    def after_iteration(self, run, row):
        self.states.append(run.state())

    @property
    def arrays(self):
        return [state.arrays for state in self.states]


def differences(chains, i, labels):
    """Return loss and difference of an output, in the layout of the library's weights."""
    labels = [int(label) for label in labels]
    difference = chains.phi(i, chains.y[i]) - chains.phi(i, labels)
    return chains.loss(i, labels), chains.to_core(difference, STRIDE)


def outputs(arrays, prefix):
    """Return the outputs of a state, one array of labels each."""
    offsets = arrays[f"{prefix}output_offsets" if prefix == "dual_" else f"{prefix}offsets"].astype(int)
    return [arrays[f"{prefix}outputs"][begin:end] for begin, end in itertools.pairwise(offsets)]


def duals_of(arrays):
    """Return {(example, labels): dual} of a state with a block per example."""
    keys = zip(arrays["dual_examples"].astype(int), outputs(arrays, "dual_"), strict=True)
    return {(int(i), tuple(map(int, labels))): dual for (i, labels), dual in zip(keys, arrays["duals"], strict=True)}


def chains_of(arrays, gold):
    """Return the same of a state with a dual for every label of a row, given the right 0/1 rows, with sets as bytes.

    Labels sorted by the size of their duals make a chain of outputs, of which each has one more label wrong.
    """
    found = {}
    used = np.unpackbits(arrays["decisions"].reshape(len(gold), -1), axis=1, bitorder="little").astype(bool)
    sizes = np.zeros(used.shape)
    sizes[used] = np.abs(arrays["decision_duals"])
    for i, right in enumerate(np.asarray(gold, dtype=bool)):
        order = np.argsort(-sizes[i], kind="stable")[: used[i].sum()]
        output = right.copy()
        for place, label in enumerate(order):
            output[label] ^= True
            following = sizes[i][order[place + 1]] if place + 1 < len(order) else 0.0
            if sizes[i][label] > following:
                found[i, tuple(np.packbits(output, bitorder="little").tolist())] = sizes[i][label] - following
    return found


def best_dual(losses, rows, owners, costs, ridge=None):
    """Maximise a.losses - 1/2 |a rows|^2 with sums of an owner's a within its cost, or with a ridge, by scipy."""
    losses, rows = np.asarray(losses, dtype=float), np.asarray(rows, dtype=float)
    member = (np.asarray(owners)[:, None] == np.arange(len(costs))).astype(float)
    bounded = ridge is None
    ridge = np.zeros(len(costs)) if bounded else ridge

    def negative(a):
        w, sums = a @ rows, a @ member
        value = 0.5 * w @ w + 0.5 * sums**2 @ ridge - a @ losses
        return value, rows @ w + member @ (ridge * sums) - losses

    budget = {"type": "ineq", "fun": lambda a: costs - a @ member, "jac": lambda _: -member.T}
    solved = minimize(
        negative,
        np.zeros(len(losses)),
        jac=True,
        bounds=[(0, None)] * len(losses),
        method="SLSQP" if bounded else "L-BFGS-B",
        constraints=[budget] if bounded else (),
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    return -solved.fun, solved.x
