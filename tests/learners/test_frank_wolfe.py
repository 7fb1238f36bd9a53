"""Block-coordinate Frank-Wolfe against a replay in plain numpy."""

import itertools

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.duals import differences, eighths
from support.oracles import TinyChains, WholeDual

from marginloom.training.train import train

C = 0.4
CHAINS = eighths(TinyChains(7, sentences=12, max_length=3, integers=False))
IN_ORDER = {"shuffle": False}


class Replay:
    """The steps of cpp/learners/frank_wolfe.hpp, with every output of a block by its labels."""

    def __init__(self, chains, task, costs):
        self.chains, self.task, self.costs = chains, task, costs
        self.w = np.zeros(task.core.dimension)
        self.duals = [{} for _ in chains.X]
        self.gaps, self.history = [], []

    def run(self, passes, inner_passes=0):
        for _ in range(passes):
            self.gaps.append(sum(self.visit(i) for i in range(len(self.costs)) if self.costs[i] > 0))
            for _ in range(inner_passes):
                for i, block in enumerate(self.duals):
                    if block:
                        best = max(block, key=lambda y, i=i: self.violation(i, y))
                        self.step(i, best if self.violation(i, best) > 0 else None)

    def visit(self, i):
        found = self.task.core.find(i, self.w, 1.0, 1).candidates
        return self.step(i, tuple(found[0].output) if found else None)

    def violation(self, i, y):
        loss, difference = differences(self.chains, i, y)
        return loss - self.w @ difference

    def step(self, i, target):
        block = self.duals[i]
        corner_loss, corner = differences(self.chains, i, target) if target else (0.0, np.zeros_like(self.w))
        corner_loss, corner = self.costs[i] * corner_loss, self.costs[i] * corner
        parts = {y: differences(self.chains, i, y) for y in block}
        own = sum((block[y] * parts[y][1] for y in block), np.zeros_like(self.w))
        own_loss = sum(block[y] * parts[y][0] for y in block)
        gap = corner_loss - own_loss - self.w @ (corner - own)
        distance = (corner - own) @ (corner - own)
        gamma = min(max(gap / distance, 0), 1) if distance > 0 else 0
        self.duals[i] = {y: (1 - gamma) * dual for y, dual in block.items()}
        if target:
            self.duals[i][target] = self.duals[i].get(target, 0) + gamma * self.costs[i]
        self.duals[i] = {y: dual for y, dual in self.duals[i].items() if dual > 1e-13 * self.costs[i]}
        self.w = self.w + gamma * (corner - own)
        self.history.append(self.w)
        return gap

    def average(self):
        k = np.arange(1, len(self.history) + 1)
        return 2 / (k[-1] * (k[-1] + 1)) * (k @ np.array(self.history))


def replayed(passes, **options):
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(CHAINS.X))
    weights[3] = 0
    task = make_task(CHAINS, options.pop("representation", "valued"))
    result = train(
        task, algorithm="bcfw", C=C, tol=1e-12, max_iter=passes, sample_weight=weights, engine=IN_ORDER, learner=options
    )
    replay = Replay(CHAINS, task, C * weights)
    replay.run(passes, options.get("inner_passes", 0))
    return result, replay


@pytest.mark.parametrize("representation", ["valued", "dense"])
@pytest.mark.parametrize("inner_passes", [0, 3])
def test_weights_are_those_of_the_replay(inner_passes, representation):
    result, replay = replayed(20, inner_passes=inner_passes, representation=representation)
    assert np.abs(result.weights - replay.w).max() < 1e-9
    assert np.abs(replay.w).max() > 0.1


@pytest.mark.parametrize("inner_passes", [0, 2])
@pytest.mark.parametrize("passes", [1, 5])
def test_average_counts_every_step_with_its_number(passes, inner_passes):
    result, replay = replayed(passes, averaged=True, inner_passes=inner_passes)
    assert np.abs(result.weights - replay.average()).max() < 1e-9
    assert np.abs(result.weights - replay.w).max() > 1e-3


def test_its_own_gap_is_the_sum_of_the_gaps_of_blocks():
    result, replay = replayed(8)
    rows = result.trace.rows[:-1]  # the last one has the certificate
    assert not any(row["certified"] for row in rows)
    assert [row["primal"] - row["dual"] for row in rows] == pytest.approx(replay.gaps[:-1], rel=1e-9)


def test_the_dual_rises_with_every_step_and_passes_over_the_cache_need_no_inference():
    plain, _ = replayed(10)
    cached, _ = replayed(10, inner_passes=5)
    assert plain.inferences == cached.inferences == 110  # 11 examples with a weight
    assert cached.certificate.dual > plain.certificate.dual
    duals = [row["dual"] for row in plain.trace.rows]
    assert all(later > earlier for earlier, later in itertools.pairwise(duals))


def test_nothing_moves_where_gold_is_the_only_output():
    chains = TinyChains(1, labels=1)
    result = train(make_task(chains, "valued"), algorithm="bcfw", max_iter=3)
    assert result.updates == 0
    assert not result.weights.any()
    assert result.certificate.primal == result.certificate.dual == 0


@pytest.mark.parametrize("factor", [0.05, 20])
def test_an_average_goes_on_from_another_cost_with_a_certificate_that_holds(factor):
    task = make_task(CHAINS, "valued")
    options = {"algorithm": "bcfw", "tol": 1e-12, "learner": {"averaged": True}}
    start = train(task, C=C, max_iter=5, keep_state=True, **options)
    best = WholeDual(CHAINS, np.full(len(CHAINS.X), factor * C)).solve("hinge")[0]
    gaps = []
    for passes in (1, 3, 40):
        result = train(task, C=factor * C, max_iter=passes, warm_start=start.state, **options)
        assert 0.01 * best < result.certificate.dual <= best * (1 + 1e-5)
        assert result.certificate.primal >= best * (1 - 1e-5)
        gaps.append(result.certificate.gap)
    assert gaps[-1] < 0.7 * gaps[0]
