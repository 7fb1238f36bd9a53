"""Small chains of oracles as tasks."""

import numpy as np
from scipy import sparse

from marginloom.features import MatrixFeatures
from marginloom.tasks.sequence.task import SequenceTask


def make_task(chains, representation):
    stacked = np.vstack(chains.X)
    matrix = stacked if representation == "dense" else sparse.csr_matrix(stacked)
    encoded = MatrixFeatures().fit((matrix, chains.lengths))
    if representation == "indicators":
        assert encoded.values is None
    return SequenceTask(
        encoded,
        np.concatenate(chains.y).astype(np.uint16),
        chains.labels,
        start_end=chains.start_end,
        label_costs=chains.label_costs,
        forbidden=chains.forbidden,
    )
