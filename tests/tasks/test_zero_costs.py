"""Costs that are 0 everywhere are refused: nothing would be wrong, and nothing learnt."""

import numpy as np
import pytest

from marginloom import InputError, MulticlassClassifier, MultilabelClassifier, SequenceTagger

X = np.eye(4)
FITS = {
    "sequence": lambda cost: SequenceTagger(label_costs={"P": cost, "Q": cost}).fit([["a", "b"]], [["P", "Q"]]),
    "multiclass": lambda cost: MulticlassClassifier(cost_matrix=cost * (1 - np.eye(2))).fit(X, [0, 1, 0, 1]),
    "multilabel": lambda cost: MultilabelClassifier(label_costs=(cost, cost)).fit(X, [["a"], ["b"], [], ["a", "b"]]),
}


@pytest.mark.parametrize("task", FITS)
def test_costs_of_0_everywhere_are_refused(task):
    with pytest.raises(InputError, match=r"^(label_costs|cost_matrix) is 0 everywhere"):
        FITS[task](0.0)
    FITS[task](0.5)
