"""What is wrong with a task of one's own: checks for a test suite."""

from __future__ import annotations

import hashlib
import itertools
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from marginloom.common.parameters import checked
from marginloom.errors import InputError, MarginloomError
from marginloom.tasks.custom.oracle import Oracle
from marginloom.tasks.custom.sparse_vector import SparseVector
from marginloom.tasks.custom.task import CustomTask

Returned = TypeVar("Returned")

_MOST_OUTPUTS = 10_000
_MOST_CHECKED_AGAIN = 100
_ROUNDING = 1e-6  # of the sizes of the terms of a sum


class TaskError(MarginloomError, AssertionError):
    """A task is not what it has to be; `problems` lists why, a sentence each."""

    def __init__(self, name: str, problems: list[str]) -> None:
        super().__init__("\n".join([f"{name} has {len(problems)} problem(s):", *(f"- {line}" for line in problems)]))
        self.problems = problems


def check_task(
    task: CustomTask, *, trials: int = 20, examples: int = 20, random_state: int = 0, raise_error: bool = True
) -> list[str]:
    """Look for mistakes in the methods of a task.

    Features, losses and outputs are checked one by one, and inference against all outputs that turn up: gold and what
    `argmax` and `argmax_augmented` return under random weights. If the task has a method `outputs(x)` that returns
    every output of an example, inference is checked against all of them; that proves the most, so check small examples
    this way. With ``exact = False`` inference may miss the maximum and is not compared.

    Inputs that methods change are found if they can be pickled.

    Parameters
    ----------
    task : CustomTask
        The task, with right outputs.
    trials : int
        Random weight vectors per example.
    examples : int
        How many examples to draw at most.
    random_state : int
        Seed of weights and examples.
    raise_error : bool
        Raise `TaskError` if there are problems, instead of returning them.

    Returns
    -------
    list of str
        The problems, a sentence each; empty if none was found. Of several of one kind the first is told.

    Raises
    ------
    TaskError
        Listing all problems.

    Examples
    --------
    >>> class Sign(CustomTask):
    ...     def features(self, x, y):
    ...         return {0: x * y}
    ...     def loss(self, gold, y):
    ...         return float(gold != y)
    ...     def argmax(self, x, w):
    ...         return 1 if w[0] * x >= 0 else -1
    ...     def argmax_augmented(self, x, gold, w):
    ...         return self.argmax(x, w)  # forgets the loss
    >>> check_task(Sign([2.0, -1.0], [1, -1], dimension=1), raise_error=False)  # doctest: +ELLIPSIS
    ['Sign.argmax_augmented, example 0: the output 1 has w.phi + loss = ..., and the output -1 has more, ...']
    """
    if not isinstance(task, CustomTask) or task.Y is None:
        raise InputError("check_task takes a CustomTask with right outputs (Y)")
    checked("raise_error", raise_error, "switch")
    trials = checked("trials", trials, "positive count")
    random = np.random.default_rng(checked("random_state", random_state, "seed"))
    chosen = np.arange(len(task.X))
    if chosen.size > checked("examples", examples, "positive count"):
        chosen = np.sort(random.choice(chosen, size=examples, replace=False))
    problems = _Problems(type(task).__name__)
    oracle = Oracle(task, task.dimension)
    for i in chosen.tolist():
        _ExampleCheck(task, oracle, i, problems).run(random, trials)
    if problems.sentences and raise_error:
        raise TaskError(type(task).__name__, list(problems.sentences.values())) from problems.first_exception
    return list(problems.sentences.values())


class _Problems:
    """Collects the first problem of each kind."""

    def __init__(self, task: str) -> None:
        self.sentences: dict[tuple[str, str], str] = {}
        self.first_exception: Exception | None = None
        self._task = task

    def add(self, kind: str, method: str, i: int, sentence: str) -> None:
        self.sentences.setdefault((kind, method), f"{self._task}.{method}, example {i}: {sentence}")

    def add_exception(self, method: str, i: int, error: Exception) -> None:
        self.first_exception = self.first_exception or error
        if isinstance(error, InputError):  # says it all
            place = f"{self._task}.{method}, example {i}: "
            self.add("unfit", method, i, str(error).removeprefix(place))
            return
        advice = ""
        if "read-only" in str(error):
            advice = "; w is read-only and must not be changed: work on a copy"
        self.add("raised", method, i, f"raised {type(error).__name__}: {error}{advice}")


class _Scored(NamedTuple):
    """An output with what is known of it."""

    y: Any
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    loss: float

    def objective(self, w: NDArray[np.float64], loss_scale: float) -> tuple[float, float]:
        """Return w.phi + loss_scale * loss, and what rounding may do to it."""
        terms = w[self.indices] * self.values
        loss = loss_scale * self.loss
        return float(terms.sum()) + loss, _ROUNDING * (1 + float(np.abs(terms).sum()) + loss)


class _FailedError(Exception):
    """A method failed and that is recorded."""


class _ExampleCheck:
    """Checks one example."""

    def __init__(self, task: CustomTask, oracle: Oracle, i: int, problems: _Problems) -> None:
        self._task = task
        self._oracle = oracle
        self._i = i
        self._problems = problems
        self._gold = oracle.encoded_golds[i]
        self._outputs: dict[bytes, _Scored] = {}
        self._listed = False  # whether these are all outputs

    def run(self, random: np.random.Generator, trials: int) -> None:
        try:
            self._check_gold()
            self._collect_all()
        except _FailedError:
            return
        results = []
        for trial in range(trials):
            w = np.frombuffer(self._draw_weights(random, trial).tobytes())  # nothing can make it writeable
            for method, loss_scale in (("argmax", 0.0), ("argmax_augmented", 1.0)):
                with suppress(_FailedError):
                    results.append((method, loss_scale, w, self._infer(method, w)))
        with suppress(_FailedError):
            self._check_features_again()
        if self._task.exact:
            for method, loss_scale, w, key in results:
                self._compare(method, loss_scale, w, self._outputs[key])

    def _draw_weights(self, random: np.random.Generator, trial: int) -> NDArray[np.float64]:
        """Draw weights; in every other trial such that the loss turns the order of two outputs around."""
        w = random.normal(size=self._task.dimension)
        if trial % 2 == 0:
            return w * (1, 0, 0.01, 100)[trial // 2 % 4]  # with 0 the loss alone decides, with 100 hardly
        outputs = list(self._outputs.values())
        one, other = (outputs[k] for k in random.integers(len(outputs), size=2))
        margin = one.objective(w, 0)[0] - other.objective(w, 0)[0]
        # w.phi is higher for the output with less loss, by a share of the difference in loss
        return w * random.uniform() * (other.loss - one.loss) / margin if margin else w

    def _check_gold(self) -> None:
        gold = self._oracle.gold(self._i)
        self._add(gold)
        loss = self._outputs[self._gold].loss
        if loss != 0:
            self._report("not zero", "loss", f"the loss of the right output {_show(gold)} is {loss:g} and must be 0")

    def _collect_all(self) -> None:
        if not hasattr(self._task, "outputs"):
            return
        listing = self._attempt("outputs", self._oracle.call, "outputs", self._task.X[self._i])
        outputs = self._attempt("outputs", lambda _: list(itertools.islice(listing, _MOST_OUTPUTS)))
        self._listed = len(outputs) < _MOST_OUTPUTS
        keys = {self._add(y) for y in outputs}
        if self._listed and self._gold not in keys:
            gold = self._oracle.gold(self._i)
            self._report("no gold", "outputs", f"the right output {_show(gold)} is not among the {len(keys)} outputs")

    def _infer(self, method: str, w: NDArray[np.float64]) -> bytes:
        function = self._oracle.argmax if method == "argmax" else self._oracle.argmax_augmented
        y = self._attempt(method, function, w)
        known = len(self._outputs)
        key = self._add(y)
        gold = self._outputs[self._gold].y
        if key != self._gold and _alike(y, gold):
            self._report(
                "alike",
                method,
                f"returned {_show(y)} for the right output {_show(gold)}, which encode takes for another one; return "
                "the same types as in Y",
            )
        elif self._listed and len(self._outputs) > known:
            self._report("not listed", method, f"returned {_show(y)}, which is not among outputs(x)")
        return key

    def _add(self, y: Any) -> bytes:
        """Check an output by itself and remember it."""
        key = self._attempt("encode", self._oracle.encode, y)
        if key not in self._outputs:
            decoded = self._check_encoding(y, key)
            indices, values = self._check_features(y, decoded)
            self._outputs[key] = _Scored(y, indices, values, self._check_loss(y, decoded))
        return key

    def _check_encoding(self, y: Any, key: bytes) -> Any:
        decoded = self._attempt("decode", self._oracle.call, "decode", key)
        if self._attempt("encode", self._oracle.encode, decoded) != key:
            self._report(
                "round trip",
                "decode",
                f"the output {_show(y)} comes back from encode and decode as {_show(decoded)}; decode must undo encode",
            )
        return decoded

    def _check_features(self, y: Any, decoded: Any) -> SparseVector:
        vector, again, of_decoded = (self._attempt("features", self._oracle.features, o) for o in (y, y, decoded))
        self._compare_features(y, vector, again, "asked for again")
        self._compare_features(y, vector, of_decoded, "asked for again after encode and decode")
        return vector

    def _check_features_again(self) -> None:
        for scored in itertools.islice(self._outputs.values(), _MOST_CHECKED_AGAIN):
            vector = self._attempt("features", self._oracle.features, scored.y)
            self._compare_features(scored.y, (scored.indices, scored.values), vector, "asked for again after inference")

    def _compare_features(self, y: Any, vector: SparseVector, other: SparseVector, when: str) -> None:
        first, then = _summed(*vector), _summed(*other)
        if first != then:
            self._report(
                "unstable",
                "features",
                f"the features of {_show(y)} differ when they are {when} ({_first_difference(first, then)}); they must "
                "depend on x and y alone",
            )

    def _check_loss(self, y: Any, decoded: Any) -> float:
        loss, again = (self._attempt("loss", self._oracle.loss, output) for output in (y, decoded))
        if loss != again:
            self._report(
                "unstable",
                "loss",
                f"the loss of {_show(y)} is {loss:g}, and {again:g} for the same output after encode and decode",
            )
        return loss

    def _compare(self, method: str, loss_scale: float, w: NDArray[np.float64], found: _Scored) -> None:
        objective, rounding = found.objective(w, loss_scale)
        best = max(self._outputs.values(), key=lambda scored: scored.objective(w, loss_scale)[0])
        highest, more_rounding = best.objective(w, loss_scale)
        if highest <= objective + rounding + more_rounding:
            return
        name = "w.phi + loss" if loss_scale else "w.phi"
        which = "the right output" if best is self._outputs[self._gold] else "the output"
        self._report(
            "not best",
            method,
            f"the output {_show(found.y)} has {name} = {objective:.6g}, and {which} {_show(best.y)} has more, "
            f"{highest:.6g}; return the maximum, or set exact = False if it cannot be found",
        )

    def _attempt(self, method: str, function: Callable[..., Returned], *arguments: Any) -> Returned:
        """Call a function of the oracle for this example; record what it raises and whether it changes x or gold."""
        given = {"x": self._task.X[self._i], "gold": self._oracle.gold(self._i)}
        before = {name: _digest(value) for name, value in given.items()}
        try:
            result = function(self._i, *arguments)
        except Exception as error:
            self._problems.add_exception(method, self._i, error)
            raise _FailedError from error
        for name, value in given.items():
            if before[name] != _digest(value):
                self._report(f"changes {name}", method, f"changes its argument {name}; work on a copy")
        return result

    def _report(self, kind: str, method: str, sentence: str) -> None:
        self._problems.add(kind, method, self._i, sentence)


def _digest(x: Any) -> str:
    try:
        return hashlib.sha256(pickle.dumps(x)).hexdigest()
    except Exception:  # of any kind, from code of the object's own
        return ""


def _summed(indices: NDArray[np.int64], values: NDArray[np.float64]) -> dict[int, float]:
    total: dict[int, float] = {}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        total[index] = total.get(index, 0.0) + value
    return {index: value for index, value in sorted(total.items()) if value != 0}


def _first_difference(first: dict[int, float], other: dict[int, float]) -> str:
    for index in sorted(first.keys() | other.keys()):
        if first.get(index, 0.0) != other.get(index, 0.0):
            return f"at index {index}: {first.get(index, 0.0):g}, then {other.get(index, 0.0):g}"
    return ""


def _alike(y: Any, gold: Any) -> bool:
    """Tell whether two outputs differ in types only, such as a list and a tuple of the same numbers."""
    try:
        return bool(np.array_equal(np.asarray(y), np.asarray(gold)))
    except Exception:  # of any kind, from code of the object's own
        return False


def _show(y: Any) -> str:
    text = repr(y)
    return text if len(text) <= 60 else text[:57] + "..."
