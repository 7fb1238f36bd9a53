"""Intersection over union, scores and losses of boxes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom.errors import InputError
from marginloom.tasks.detection.boxes import intersection_over_union, loss_tables
from marginloom.tasks.detection.metrics import detection_scores

boxes = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 8), st.integers(1, 8))


def cells(box):
    top, left, height, width = box
    return {(y, x) for y in range(top, top + height) for x in range(left, left + width)}


@given(boxes, boxes)
def test_overlap_is_that_of_counted_cells(a, b):
    expected = len(cells(a) & cells(b)) / len(cells(a) | cells(b))
    assert intersection_over_union(a, [b])[0] == pytest.approx(expected)
    assert intersection_over_union([a], [b])[0] == pytest.approx(expected)


def test_a_detection_counts_if_label_is_right_and_overlap_above_a_half():
    right = [(0, 0, 4, 4)] * 4
    found = [(0, 0, 4, 4), (0, 0, 4, 4), (0, 0, 4, 2), (0, 0, 4, 3)]
    scores = detection_scores(np.array([1, 1, 1, 1]), right, np.array([1, 2, 1, 1]), found)
    assert scores == {"detection_accuracy": 0.5, "mean_iou": pytest.approx((1 + 1 + 0.5 + 0.75) / 4)}


@pytest.mark.parametrize("stride", [1, 4])
def test_tables_hold_the_loss_of_every_displacement(stride):
    sizes = [(2, 3), (4, 1)]

    def loss(right, box, label, others):
        return (3 if right != label else 1) * (1 - intersection_over_union(box, others))

    tables = loss_tables(loss, ["a", "b"], sizes, stride)
    shaped = tables.losses.reshape(4, 2, 2, 9, 7)
    for (right, label), number in zip([(0, 0), (0, 1), (1, 0), (1, 1)], tables.numbers, strict=True):
        for g, gold in enumerate(sizes):
            for s, size in enumerate(sizes):
                for dy in range(-4, 5):
                    for dx in range(-3, 4):
                        overlap = intersection_over_union((9, 9, *gold), [(9 + dy, 9 + dx, *size)])[0]
                        expected = (3 if right != label else 1) * (1 - overlap)
                        assert shaped[number, g, s, dy + 4, dx + 3] == pytest.approx(expected)


def test_zero_one_loss_is_the_score_turned_round():
    table = loss_tables("zero_one", ["a", "b"], [(2, 4)])
    assert table.numbers == [0, 1, 1, 0]
    assert table.losses.reshape(2, 5, 9)[0, 2].tolist() == [1, 1, 1, 0, 0, 0, 1, 1, 1]
    assert (table.losses.reshape(2, 5, 9)[1] == 1).all()


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("l2", "box_loss is 'l2'"),
        (3, "box_loss is 3"),
        (lambda *_: [1.0], "shape"),
        (lambda _r, _b, _l, others: -np.ones(len(others)), "negative"),
        (lambda _r, _b, _l, others: np.full(len(others), np.nan), "not finite"),
    ],
)
def test_losses_that_make_no_sense_are_refused(loss, message):
    with pytest.raises(InputError, match=message):
        loss_tables(loss, ["a"], [(2, 2)])
