"""Wrong arguments of public functions and classes are told in their own names."""

import inspect

import pytest
from support.custom_chains import Majority, votes

import marginloom
from marginloom import train
from marginloom.training.spec import RunSpec

CALLABLE = [
    name
    for name in marginloom.__all__
    if callable(value := getattr(marginloom, name)) and not inspect.isabstract(value) and name != "train"
]


@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        ((), {"foo": 1}, "train() got an unexpected keyword argument 'foo'"),
        ((), {"max_iters": 1}, "train() got an unexpected keyword argument 'max_iters' (did you mean 'max_iter'?)"),
        ((), {"tol": 0.1, "inner_passes": 3}, "train() got an unexpected keyword argument 'inner_passes'"),
        (("perceptron",), {}, "train() too many positional arguments"),
    ],
)
def test_train_speaks_of_itself(arguments, given, said):
    with pytest.raises(TypeError) as caught:
        train(Majority(*votes()), *arguments, **given)
    assert str(caught.value) == said
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_train_without_a_task():
    with pytest.raises(TypeError, match=r"^train\(\) missing 1 required positional argument: 'task'$"):
        train()


def test_the_signature_of_train_is_that_of_a_run():
    names = list(inspect.signature(train).parameters)
    assert names == ["task", *inspect.signature(RunSpec).parameters]


@pytest.mark.parametrize("name", CALLABLE)
def test_an_unknown_argument_is_told_by_the_name_that_was_called(name):
    with pytest.raises(TypeError, match=rf"^{name}(\.__init__)?\(\)"):
        getattr(marginloom, name)(no_such_argument=1)
