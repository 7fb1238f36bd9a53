"""Learners and engines are compared with their C++ classes, and those of other distributions are found."""

import dataclasses
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest

import marginloom.engines.base
import marginloom.learners.base
from marginloom import DCD, InputError, Minibatch, NSlack, PassiveAggressive
from marginloom.common.parameters import one_of, parameter
from marginloom.common.registry import registered
from marginloom.engines.base import Engine
from marginloom.learners.base import Learner
from marginloom.learners.dual import Dual

HERE = f"{__name__}."


@dataclasses.dataclass(frozen=True)
class OneMore(NSlack):
    extra: int = parameter(1, "count", "what no C++ class knows")


@dataclasses.dataclass(frozen=True)
class TooFew(Dual):
    name = "cpd"
    native = "cutting-plane"
    losses = ("hinge",)

    batch: int = parameter(1, "count", "constraints")


@dataclasses.dataclass(frozen=True)
class OtherType(NSlack):
    batch: float = parameter(1.0, "positive", "constraints")


@dataclasses.dataclass(frozen=True)
class OtherWords(PassiveAggressive):
    variant: str = parameter("pa-i", one_of("pa", "pa-i"), "which one")


@dataclasses.dataclass(frozen=True)
class OtherLosses(NSlack):
    losses = ("hinge",)


@dataclasses.dataclass(frozen=True)
class FixedOtherwise(NSlack):
    fixed: ClassVar[dict] = {"epsilon": 1}


@dataclasses.dataclass(frozen=True)
class Unregistered(DCD):
    name = "ghost"


@dataclasses.dataclass(frozen=True)
class ForBoth(Minibatch):
    kinds = frozenset({"online", "dual"})


@dataclasses.dataclass(frozen=True)
class BatchesOfShares(Minibatch):
    batch_size: float = parameter(0.5, "share", "share of the examples")


CUTTING_PLANE = "the C++ class registered as 'cutting-plane'"


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        (OneMore, f"OneMore declares the parameter 'extra', which {CUTTING_PLANE} does not have; it has: loss, "),
        (TooFew, f"{CUTTING_PLANE} has the parameter 'epsilon', which {HERE}TooFew does not declare"),
        (OtherType, f"the parameter 'batch' is float in {HERE}OtherType and int in {CUTTING_PLANE}"),
        (
            OtherWords,
            f"the parameter 'variant' is str (pa or pa-i) in {HERE}OtherWords and str (pa, pa-i or pa-ii) in ",
        ),
        (OtherLosses, f"the parameter 'loss' is str (hinge) in {HERE}OtherLosses and str (hinge or squared_hinge) in "),
        (FixedOtherwise, f"the parameter 'epsilon' is int in {HERE}FixedOtherwise and float in {CUTTING_PLANE}"),
        (Unregistered, "is for the native dual learner 'ghost', and no C++ class is registered under that name"),
    ],
)
def test_a_learner_that_differs_from_its_native_class_is_an_error_that_names_both(learner, said):
    with pytest.raises(InputError) as caught:
        marginloom.learners.base.check_native(learner)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (BatchesOfShares, f"the parameter 'batch_size' is float in {HERE}BatchesOfShares and int in the C++ class "),
        (ForBoth, "is for dual and online learners, and the C++ classes registered as 'minibatch' are for online"),
    ],
)
def test_an_engine_that_differs_from_its_native_class_is_an_error_that_names_both(engine, said):
    with pytest.raises(InputError) as caught:
        marginloom.engines.base.check_native(engine)
    assert said in str(caught.value)


@pytest.fixture
def points(monkeypatch):
    """Stand for the entry points of installed distributions."""
    found = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [p for p in found if p.group == group])
    return found


def listed(role, base):
    return registered(role, base, [NSlack] if role == "learner" else [Minibatch], lambda part: None)


def test_learners_and_engines_of_other_distributions_are_found_at_first_use(points):
    learners, engines = listed("learner", Learner), listed("engine", Engine)
    points.append(EntryPoint("ghost", f"{__name__}:Unregistered", "marginloom.learners"))
    assert list(learners) == ["n-slack", "ghost"]
    assert learners["ghost"] is Unregistered
    assert list(engines) == ["minibatch"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (f"{__name__}:Missing", "AttributeError"),
        ("nowhere.at_all:Learner", "ModuleNotFoundError"),
        (f"{__name__}:ForBoth", "is no Learner with a name"),
        (f"{__name__}:OneMore", "there is another learner named 'n-slack'"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_says_whose_it_is(points, value, said):
    points.append(EntryPoint("theirs", value, "marginloom.learners"))
    with pytest.raises(InputError, match=r"the learner 'theirs' of the distribution .* cannot be used") as caught:
        list(listed("learner", Learner))
    assert said in str(caught.value)
