"""check_task: one deliberately broken task for every mistake that it must find."""

import re

import numpy as np
import pytest
from support.custom_chains import EnumeratedChains, Majority, votes
from support.oracles import TinyChains

from marginloom import InputError, MarginloomError
from marginloom.testing import TaskError, check_task


def problems_of(kind, X=None, Y=None, **options):
    if X is None:
        X, Y = votes(6)
    return check_task(kind(X, Y), raise_error=False, **options)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("integers", [False, True])
def test_good_tasks_have_no_problems(seed, integers):
    assert check_task(EnumeratedChains(TinyChains(seed, max_length=3, integers=integers))) == []
    assert check_task(Majority(*votes(30, seed))) == []


class ListedMajority(Majority):
    def outputs(self, x):
        return range(3)


class LossAtGold(Majority):
    def loss(self, gold, y):
        return 0.5 + float(gold != y)


class NegativeLoss(Majority):
    def loss(self, gold, y):
        return -float(gold != y)


class WorseThanGold(Majority):
    def argmax(self, x, w):
        return min(range(3), key=lambda y: w[y] * x[y])


class WorseThanRandom(Majority):
    def argmax(self, x, w):
        return max(range(2), key=lambda y: w[y] * x[y])  # forgets label 2, which is never gold here


class ForgetsLoss(Majority):
    def argmax_augmented(self, x, gold, w):
        return self.argmax(x, w)


class SubtractsLoss(Majority):
    def argmax_augmented(self, x, gold, w):
        return max(range(3), key=lambda y: w[y] * x[y] - self.loss(gold, y))


class HalvesLoss(Majority):
    def argmax_augmented(self, x, gold, w):
        return max(range(3), key=lambda y: w[y] * x[y] + 0.5 * self.loss(gold, y))


class AlwaysGold(Majority):
    def argmax_augmented(self, x, gold, w):
        return gold


class ChangingFeatures(Majority):
    calls = 0

    def features(self, x, y):
        self.calls += 1
        return {y: x[y] + 0.5 * (self.calls % 2)}


class FeaturesOfState(Majority):
    last = 0.0

    def features(self, x, y):
        return {y: x[y] + self.last}

    def argmax(self, x, w):
        self.last = float(w[0])
        return super().argmax(x, w)


class ChangesWeights(Majority):
    def argmax_augmented(self, x, gold, w):
        w[gold] -= 1
        return super().argmax(x, w)


class UnlocksWeights(Majority):
    def argmax(self, x, w):
        w.flags.writeable = True
        w[:] = 0
        return 0


class ChangesInput(Majority):
    def argmax(self, x, w):
        x *= 2
        return super().argmax(x, w)


class ChangesGold(Majority):
    def loss(self, gold, y):
        if isinstance(gold, list):
            gold.append(0)
        return float(gold != y)


class NotEncodable(Majority):
    def argmax_augmented(self, x, gold, w):
        return {0}


class LossyDecode(Majority):
    def decode(self, encoded):
        return 0


class NotBytes(Majority):
    def encode(self, y):
        return str(y).encode() if isinstance(y, int) else y


class OtherTypes(Majority):
    def argmax(self, x, w):
        return float(super().argmax(x, w))

    def features(self, x, y):
        return super().features(x, int(y))


class BeyondDimension(Majority):
    def features(self, x, y):
        return {y + 1: x[y]}


class WrongLength(Majority):
    def features(self, x, y):
        return np.zeros(5)


class Raises(Majority):
    def argmax(self, x, w):
        raise LookupError("no lexicon")


class GoldNotListed(Majority):
    def outputs(self, x):
        return [y for y in range(3) if y != int(np.argmax(x))]


class ReturnsUnlisted(Majority):
    def outputs(self, x):
        return range(2)


MISTAKES = [
    (LossAtGold, r"LossAtGold.loss, example 0: the loss of the gold output \d is 0.5 and must be 0"),
    (NegativeLoss, r"NegativeLoss.loss, example 0: the result must be a finite number, 0 or more, not -1.0"),
    (WorseThanGold, r"argmax, example \d+: the output \d has w.phi = \S+, and the (right )?output \d has more, \S+;"),
    (ForgetsLoss, r"argmax_augmented, example \d+: the output \d has w.phi \+ loss = \S+, and the output \d has more"),
    (SubtractsLoss, r"argmax_augmented, example \d+: the output \d has w.phi \+ loss"),
    (HalvesLoss, r"argmax_augmented, example \d+: the output \d has w.phi \+ loss"),
    (AlwaysGold, r"argmax_augmented, example \d+: the output \d has w.phi \+ loss"),
    (ChangingFeatures, r"features, example 0: the features of \d differ when they are asked for again \(at index \d: "),
    (FeaturesOfState, r"features, example 0: the features of \d differ when they are asked for again after inference"),
    (ChangesWeights, r"argmax_augmented, example 0: raised ValueError: .*read-only; w is read-only and must not"),
    (UnlocksWeights, r"argmax, example 0: raised ValueError: cannot set WRITEABLE"),
    (ChangesInput, r"argmax, example 0: changes its argument x; work on a copy"),
    (
        NotEncodable,
        r"encode, example 0: an output, or a part of one, is a set, which has no encoding of its own",
    ),
    (LossyDecode, r"decode, example \d: the output \d comes back from encode and decode as 0; decode must undo"),
    (OtherTypes, r"argmax, example \d: returned \d.0 for the gold output \d, .* return the same types as in Y"),
    (BeyondDimension, r"features, example \d: the result has the index 3, and the dimension is 3: 0 to 2 exist"),
    (WrongLength, r"features, example 0: the result has the shape \(5,\) and must have that of the weights, \(3,\)"),
    (Raises, r"argmax, example 0: raised LookupError: no lexicon"),
    (GoldNotListed, r"outputs, example 0: the gold output \d is not among the 2 outputs"),
    (ReturnsUnlisted, r"argmax, example \d: returned 2, which is not among outputs\(x\)"),
]


@pytest.mark.parametrize(("kind", "pattern"), MISTAKES, ids=[kind.__name__ for kind, _ in MISTAKES])
def test_mistakes_are_found_and_named(kind, pattern):
    problems = problems_of(kind)
    assert any(re.search(pattern, problem) for problem in problems), problems
    assert all(problem.startswith(kind.__name__ + ".") for problem in problems)


@pytest.mark.parametrize("kind", [LossAtGold, WorseThanGold, ForgetsLoss, WrongLength])
def test_a_mistake_is_not_blamed_on_another_method(kind):
    methods = {problem.split(",")[0].split(".")[1] for problem in problems_of(kind)}
    assert len(methods) == 1


def test_an_output_that_argmax_never_returns_is_found_through_the_augmented_argmax():
    X = np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 2.0]])
    problems = problems_of(WorseThanRandom, X, [0, 1])
    assert any("argmax, example" in problem and "and the output 2 has more" in problem for problem in problems)


def test_listing_all_outputs_makes_the_check_brute_force():
    class BothForget(Majority):
        def argmax(self, x, w):
            return max(range(2), key=lambda y: w[y] * x[y])

        def argmax_augmented(self, x, gold, w):
            return max(range(2), key=lambda y: w[y] * x[y] + self.loss(gold, y))

    class Listed(BothForget, ListedMajority):
        pass

    X = np.array([[3.0, 1.0, 2.0]])
    assert problems_of(BothForget, X, [0]) == []
    assert len(problems_of(Listed, X, [0])) == 2


def test_a_method_that_changes_gold_is_found():
    problems = problems_of(ChangesGold, np.array([[1.0, 2.0, 3.0]]), [2]) + check_task(
        type("ListGold", (ChangesGold,), {"features": lambda self, x, y: {0: 1.0}, "argmax": lambda self, x, w: [1]})(
            np.array([[1.0, 2.0, 3.0]]), [[1]]
        ),
        raise_error=False,
    )
    assert any("loss, example 0: changes its argument gold" in problem for problem in problems)


def test_inexact_inference_may_miss_the_maximum_and_nothing_else():
    class Inexact(WorseThanGold):
        exact = False

    class InexactWithLoss(LossAtGold):
        exact = False

    assert problems_of(Inexact) == []
    assert len(problems_of(InexactWithLoss)) == 1


def test_all_problems_are_in_one_error_that_test_suites_and_callers_can_catch():
    class Both(LossAtGold, WorseThanGold):
        pass

    with pytest.raises(TaskError) as caught:
        check_task(Both(*votes(6)))
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, MarginloomError)
    assert len(caught.value.problems) == 2
    assert all(problem in str(caught.value) for problem in caught.value.problems)


def test_the_traceback_of_a_method_that_raises_is_kept():
    with pytest.raises(TaskError) as caught:
        check_task(Raises(*votes(6)))
    assert isinstance(caught.value.__cause__, LookupError)


def test_the_seed_fixes_what_is_found():
    assert problems_of(WorseThanGold, random_state=3) == problems_of(WorseThanGold, random_state=3)


def test_only_tasks_with_right_outputs_can_be_checked():
    with pytest.raises(InputError, match="with gold outputs"):
        check_task(Majority(votes(3)[0]))
