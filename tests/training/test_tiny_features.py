"""Certificates are true, and training converges, where features are so small that a block has next to no curvature."""

import pytest
from support.changeable import chains
from support.scaled import Scaled, check_all, scaled_objects, scaled_sequences, with_rows_of

from marginloom.training.train import train

LENGTHS = [1e-3, 1e-6, 1e-7, 1e-8, 1e-12, 1e-20, 1e-80, 1e-154, 1e-160, 1e-170]


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ["multiclass", "multilabel, independent", "multilabel, tree"])
def test_rows_of_next_to_no_length_are_learnt_to_the_tolerance(name, length, every):
    check_all(with_rows_of(name, length, every))


@pytest.mark.parametrize("name", ["multiclass", "multilabel, tree"])
def test_published_steps_take_in_outputs_whose_differences_are_all_zeros(name):
    options = {"algorithm": "fsmo", "learner": {"variant": "as-published"}, "loss": "hinge", "C": 0.1}
    assert train(with_rows_of(name, 1e-170, every=True).task(), **options).certificate.gap < 0.01


@pytest.mark.parametrize("C", [1e-80, 1e-9, 1e-4, 1e4, 1e12])
def test_costs_of_any_size_do_not_change_that(C):
    check_all(with_rows_of("multiclass", min(1e-10, 1e-10 / C), every=True), C=C)


@pytest.mark.parametrize("exponent", [-10, -20, -27, -60, -120, -140])
def test_tiny_values_of_tokens_are_learnt_to_the_tolerance(exponent):
    check_all(scaled_sequences(exponent))


@pytest.mark.parametrize("exponent", [-10, -27, -60, -120, -140])
def test_dark_images_are_learnt_to_the_tolerance(exponent):
    check_all(scaled_objects(exponent))


@pytest.mark.parametrize("factor", [1e-3, 1e-8, 1e-20, 1e-100, 1e-160, 1e-170])
def test_tiny_features_of_a_custom_task_are_learnt_to_the_tolerance(factor):
    check_all(Scaled(chains(4, max_length=2), factor))
