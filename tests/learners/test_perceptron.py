"""The perceptron against ten lines of Python, bit for bit."""

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.oracles import TinyChains

from marginloom.training.train import train


def viterbi(scores, transitions):
    best, back = scores[0], []
    for row in scores[1:]:
        paths = best[:, None] + transitions
        back.append(paths.argmax(axis=0))
        best = row + paths.max(axis=0)
    y = [int(best.argmax())]
    for pointers in reversed(back):
        y.append(int(pointers[y[-1]]))
    return y[::-1]


def perceptron(chains, epochs, start_end):
    w = np.zeros(chains.dimension)
    total, steps, L = np.zeros(chains.dimension), 0, chains.labels
    for i in list(range(len(chains.X))) * epochs:
        rows = w.reshape(-1, L)
        scores = chains.X[i] @ rows[L + 2 :]
        if start_end:
            scores[0] += rows[L]
            scores[-1] += rows[L + 1]
        y = viterbi(scores, rows[:L])
        if y != list(chains.y[i]):
            w = w + chains.phi(i, chains.y[i]) - chains.phi(i, y)
        total, steps = total + w, steps + 1
    return w, total / steps


@pytest.mark.parametrize("start_end", [False, True])
@pytest.mark.parametrize("representation", ["indicators", "dense"])
@pytest.mark.parametrize("seed", range(4))
def test_plain_and_averaged_perceptron_equal_ten_lines_of_python(seed, representation, start_end):
    chains = TinyChains(seed, sentences=25, labels=4, max_length=7, start_end=start_end)
    task = make_task(chains, representation)
    last, average = perceptron(chains, 5, start_end)
    for algorithm, expected in (("perceptron", last), ("averaged-perceptron", average)):
        result = train(task, algorithm=algorithm, max_iter=5, engine={"shuffle": False})
        assert chains.from_core(result.weights, task.core.stride).tobytes() == expected.tobytes()
        assert result.certificate is None
        assert result.stopped == "iterations"


def test_shuffling_changes_the_order_and_the_seed_fixes_it():
    chains = TinyChains(0, sentences=25, labels=4, max_length=7)
    runs = [
        train(make_task(chains, "dense"), algorithm="perceptron", max_iter=3, random_state=seed).weights.tobytes()
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_instance_weights_scale_updates_and_zero_drops():
    chains = TinyChains(3, sentences=6, labels=3, max_length=4)
    weights = np.array([1, 0, 1, 1, 0, 1])
    dropped = TinyChains(3, sentences=6, labels=3, max_length=4)
    keep = np.flatnonzero(weights)
    dropped.X = [dropped.X[i] for i in keep]
    dropped.y = [dropped.y[i] for i in keep]
    dropped.lengths = dropped.lengths[keep]
    options = {"algorithm": "averaged-perceptron", "engine": {"shuffle": False}, "max_iter": 4}
    with_weights = train(make_task(chains, "dense"), sample_weight=weights, **options)
    without = train(make_task(dropped, "dense"), **options)
    assert with_weights.weights.tobytes() == without.weights.tobytes()
    assert with_weights.inferences == 4 * len(keep)
