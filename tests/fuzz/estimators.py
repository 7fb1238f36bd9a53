"""Inputs of estimators that are not what they should be."""

from __future__ import annotations

import copy

import numpy as np
from scipy import sparse

from fuzz.contract import outcome_of_inputs
from fuzz.samples import SAMPLES
from fuzz.tampering import VALUES, tampered_array, tampered_json


def estimator_input(random, lab):
    """Fit on other inputs, or predict for them with a good estimator."""
    sample = random.choice(SAMPLES)
    X, y, options = sample.X, sample.y, dict(sample.options)
    match random.randrange(5):
        case 0 | 1:
            X = _changed(random, X)
        case 2 | 3:
            y = _changed(random, y)
        case 4:
            options["sample_weight" if random.random() < 0.7 or "lengths" not in options else "lengths"] = _weights(
                random, len(sample.y)
            )
    if X is not sample.X and random.random() < 0.5:
        estimator = type(sample.make()).load(lab.samples / f"{sample.name}.model")
        if random.random() < 0.3 and hasattr(estimator, "predict_k_best"):
            return outcome_of_inputs(lambda: estimator.predict_k_best(X, 2, **options))
        return outcome_of_inputs(lambda: estimator.predict(X, **options))
    estimator = sample.make().set_params(warm_start=False)
    return outcome_of_inputs(lambda: estimator.fit(X, y, **options))


def _changed(random, given):
    if sparse.issparse(given) or (isinstance(given, np.ndarray) and given.ndim == 2 and random.random() < 0.4):
        return _broken_matrix(random, sparse.csr_matrix(given))
    if isinstance(given, np.ndarray):
        if given.dtype.kind in "US" or random.random() < 0.2:
            return tampered_json(random, given.tolist())
        return tampered_array(random, given)
    if random.random() < 0.1:
        return random.choice(VALUES)
    if isinstance(given, list):
        return tampered_json(random, copy.deepcopy(given))
    return given


def _broken_matrix(random, matrix):
    """Return a sparse matrix of some format whose arrays do not fit together."""
    kind = random.choice(["csr", "csc", "coo", "bsr"])
    other = matrix.asformat(kind).copy()
    names = {"csr": ("indptr", "indices", "data"), "coo": ("data",)}.get(kind, ("indptr", "indices"))
    name = random.choice(names)
    array = getattr(other, name)
    if name == "data":
        changed = tampered_array(random, array)
    else:
        changed = array.copy()
        changed[random.randrange(changed.size)] = random.choice([-1, 0, 1, 5, 100, 2**31 - 1, -(2**31), 10**6])
        if random.random() < 0.3:
            changed = changed[: random.randrange(changed.size)]
    setattr(other, name, changed)
    return other


def _weights(random, size):
    return random.choice([[], [1.0] * (size + 1), [-1.0] * size, [float("nan")] * size, "x", None, [[1.0]] * size, {}])
