"""How questions are divided between the process that drives and the others."""

import numpy as np
import pytest

from marginloom.clusters.pace import Pace, seconds_of


def seconds_of_sides(shares, work, driving, parts):
    """Return how long part 0 is busy, and each of the others."""
    return shares[0] * work + driving, (1 - shares[0]) * work / (parts - 1)


@pytest.mark.parametrize("parts", [2, 3, 8])
@pytest.mark.parametrize("driving", [0.0, 0.001, 0.01, 0.03])
def test_the_driver_is_busy_for_as_long_as_the_others_if_that_can_be(parts, driving):
    pace = Pace(parts)
    assert pace.shares() == [1 / parts] * parts
    for _ in range(3):
        pace.count(work=0.04, driving=driving)
    shares = pace.shares()
    here, there = seconds_of_sides(shares, 0.04, driving, parts)
    assert sum(shares) == pytest.approx(1)
    assert 0 <= shares[0] <= 1 / parts
    assert here == pytest.approx(there) if shares[0] > 0 else here >= there


@pytest.mark.parametrize(("work", "each"), [(1e-5, 1), (2.5e-3, 2), (1.0, 8)])
def test_others_give_as_many_answers_as_are_worth_it(work, each):
    pace = Pace(4)
    pace.count(work=3 * work, driving=3 * work)
    assert len(pace.shares()) == 1 + 3 * each


def test_what_was_long_ago_counts_less():
    pace = Pace(2)
    for _ in range(5):
        pace.count(work=1.0, driving=0.0)
    assert pace.shares()[0] == 0.5
    for _ in range(200):
        pace.count(work=1.0, driving=1.0)
    assert pace.shares()[0] < 0.01


def test_questions_without_work_are_divided_equally():
    pace = Pace(3)
    pace.count(work=0.0, driving=1.0)
    assert pace.shares() == [1 / 3] * 3
    assert seconds_of({"seconds": np.array([])}) == 0
