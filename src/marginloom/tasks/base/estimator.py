"""What all estimators have in common."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from marginloom.algorithms import ALGORITHMS, earlier_values
from marginloom.common.documentation import with_shared_texts
from marginloom.common.parameters import checked
from marginloom.core.marginals import Outputs
from marginloom.errors import InputError
from marginloom.io.files import StrPath
from marginloom.io.model import MISFITS, misfit
from marginloom.tasks.base.calibration import Calibration
from marginloom.tasks.base.confidence import calibrated_method
from marginloom.tasks.base.model import Model, Problem, Training
from marginloom.training.callbacks import Callback, ProgressBar
from marginloom.training.certificate import Certificate
from marginloom.training.checkpoint import Checkpoint, as_checkpoint
from marginloom.training.earlier import GIVEN
from marginloom.training.interrupts import watch_ctrl_c
from marginloom.training.result import Result
from marginloom.training.spec import PARAMETER_TEXT, RunParameters, RunSpec, stored_parameters
from marginloom.training.world import session_on

#: Texts that stand for their names in braces, alone on a line, in the documentation of estimators and their `fit`.
SHARED_TEXTS = {
    "common parameters": PARAMETER_TEXT
    + """warm_start : bool
    Go on from the last fit's dual variables, which needs the same examples with the same right outputs.
verbose : bool
    Show a progress bar.
""",
    "common attributes": """
certificate_ : Certificate or None
    primal, dual, gap, exact, bounded, for exactly the weights of the model; see `marginloom.Certificate`.
history_ : list of dict
    One row per iteration, see `marginloom.training.trace.Trace`.
n_iter_ : int
    Iterations done; after early stopping the weights may be those of an earlier one.
stopped_ : str
    Why training ended.
calibration_ : Calibration or None
    How scores become probabilities, after `calibrate`.
algorithm_ : str
    The algorithm that has trained it: what ``auto`` has chosen, or what was asked for.
choice_ : str or None
    What ``auto`` has chosen and why, in a line; None if an algorithm was named.
model_ : Model
    The trained model as a whole.
""",
    "common parameters of fit": """
callbacks : sequence of Callback
    What else to do between iterations.
checkpoint : path or Checkpoint, optional
    Folder in which to save every minute, or as often as a `Checkpoint` says, what is needed to go on if the
    process is killed. Removed when training has finished.
resume : bool
    Go on from the checkpoint, if there is one; from the beginning otherwise.
""",
    "training examples": """
training : tuple (X, y), optional
    The training examples: split the difference also by them. The model needs a state: train with a dual
    learner and ``warm_start=True``, or on the command line with ``--save-state``.

Returns
-------
Explanation
    Rows that sum to the difference; as a table, in notebooks too, and by `to_dict` as plain values.
""",
}


class Posed(NamedTuple):
    """What `fit` is to learn, and fitted attributes that the model alone does not tell."""

    problem: Problem[Any]
    attributes: Mapping[str, Any] = MappingProxyType({})


class _Extras(NamedTuple):
    """What a fit has besides examples and parameters, in the process that drives."""

    evaluation_sets: Mapping[str, Any]
    callbacks: Sequence[Callback]
    checkpoint: StrPath | Checkpoint | None
    resume: bool


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Estimator(BaseEstimator, RunParameters):  # type: ignore[misc]
    """Base of the estimators.

    A subclass is a dataclass too, whose fields are its own parameters besides those of every run. It names its
    `model_type`, says in `fit_inputs` what `fit` takes, writes `_pose` and `_to_score` for it, `_gold_examples` for
    `calibrate`, `_own_parameters` for `load` and `predict`, and `_adopt` if it has more fitted attributes.
    """

    algorithm: str = dataclasses.field(default=RunParameters.algorithm, kw_only=False)
    warm_start: bool = False
    verbose: bool = False

    model_type: ClassVar[type[Model]]
    #: What X and y are, in the words of the documentation of `fit`.
    fit_inputs: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        """Fill in the shared texts of the documentation."""
        super().__init_subclass__(**options)
        if cls.__doc__ is not None:
            cls.__doc__ = with_shared_texts(cls.__doc__, SHARED_TEXTS)
        if "fit_inputs" in cls.__dict__:
            cls.fit = _documented(cls.fit, {**SHARED_TEXTS, "inputs": cls.fit_inputs})  # type: ignore[method-assign]
        explain = cls.__dict__.get("explain")
        if explain is not None:
            explain.__doc__ = with_shared_texts(explain.__doc__, SHARED_TEXTS)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: Any = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: StrPath | Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Train.

        Parameters
        ----------
        {inputs}
        sample_weight : array, optional
            Factor of C for every example; 0 drops it.
        eval_set : tuple (X, y), optional
            Scored after every pass as ``dev``.
        {common parameters of fit}

        Returns
        -------
        Estimator
            The estimator itself.
        """
        return self._fit(
            self._posing(X, y, eval_set),
            sample_weight=sample_weight,
            callbacks=callbacks,
            checkpoint=checkpoint,
            resume=resume,
        )

    def _posing(self, X: Any, y: Any, eval_set: Any) -> Callable[[], tuple[Posed, dict[str, Any]]]:
        """Return what poses the problem, with the evaluation set if there is one."""

        def pose() -> tuple[Posed, dict[str, Any]]:
            posed = self._pose(X, y)
            if eval_set is None:
                return posed, {}
            if not isinstance(eval_set, (tuple, list)) or len(eval_set) != 2:
                raise InputError("eval_set must be a tuple (X, y)")
            return posed, {"dev": self._to_score(posed.problem, *eval_set)}

        return pose

    def _pose(self, X: Any, y: Any) -> Posed:
        """Return the problem that these examples and the parameters pose."""
        raise NotImplementedError

    def _to_score(self, problem: Any, X: Any, y: Any) -> Any:
        """Return examples as the evaluator of the problem's model takes them."""
        raise NotImplementedError

    @watch_ctrl_c()
    def _fit(
        self,
        pose: Callable[[], tuple[Posed, Mapping[str, Any]]],
        *,
        sample_weight: ArrayLike | None,
        callbacks: Sequence[Callback],
        checkpoint: StrPath | Checkpoint | None,
        resume: bool,
    ) -> Self:
        """Train on the problem that `pose` returns with the evaluation sets, and keep what comes out.

        After an interruption the fitted attributes are all set as well, and `KeyboardInterrupt` is raised: who fits in
        a loop wants to leave the loop. What is to be warned of comes last, since it may be raised as well.

        On a cluster every process comes here. Those that serve another one keep the same, and leave the rest to it.
        """
        with session_on(self.cluster) as session:
            posed, evaluation_sets = pose()
            if session.drives:
                extras = _Extras(evaluation_sets, callbacks, checkpoint, resume)
            else:
                extras = _Extras({}, (), None, False)
            result = self._fit_posed(posed, sample_weight, extras, verbose=session.drives)
        if result.shortfall:
            warnings.warn(result.shortfall, ConvergenceWarning, stacklevel=4)  # where `fit` was called
        return self

    def _fit_posed(self, posed: Posed, sample_weight: ArrayLike | None, extras: _Extras, *, verbose: bool) -> Result:
        fitted: Model | None = getattr(self, "model_", None)
        goes_on = checked("warm_start", self.warm_start, "switch")
        progress = [ProgressBar()] if checked("verbose", self.verbose, "switch") and verbose else []
        place = None if extras.checkpoint is None else as_checkpoint(extras.checkpoint)
        spec = dataclasses.replace(
            RunSpec.of(self),
            sample_weight=sample_weight,
            callbacks=[*progress, *extras.callbacks],
            warm_start=fitted.state if fitted is not None and goes_on else None,
            keep_state=goes_on,
            checkpoint=place,
            resume=extras.resume,
        )
        with nullcontext() if place is None else place.in_use():
            training = Training.of(posed.problem, spec, extras.evaluation_sets)
            result = training.train()
            settings = training.model.settings
            settings[GIVEN] = stored_parameters(self, settings["seed"])
            self._adopt(training.model)
            self.history_ = result.trace.rows
            for name, value in posed.attributes.items():
                setattr(self, name, value)
            if result.stopped == "interrupted":
                iterations = "1 iteration" if result.iterations == 1 else f"{result.iterations} iterations"
                raise KeyboardInterrupt(
                    f"training was interrupted after {iterations}; the estimator is fitted with the weights that it had"
                )
            if place is not None:
                place.remove()
        return result

    def _adopt(self, model: Model) -> None:
        """Set the fitted attributes that follow from a model."""
        self.model_: Any = model
        self.certificate_: Certificate | None = model.certificate
        self.history_ = []
        self.n_iter_: int = model.settings.get("iterations", 0)
        self.stopped_: str = model.settings.get("stopped", "")
        self.algorithm_: str = model.settings.get("algorithm", "")
        reason = model.settings.get("auto")
        self.choice_: str | None = None if reason is None else f"{self.algorithm_}: {reason}"

    def calibrate(self, X: Any, y: Any) -> Self:
        """Fit how scores become probabilities, on examples that training did not see.

        Afterwards there are `predict_proba` and what else gives probabilities; predictions stay the same.

        Parameters
        ----------
        X, y
            Examples with their gold outputs, as `fit` takes them.

        Returns
        -------
        Estimator
            The estimator itself.
        """
        self._check_fitted()
        self.model_.calibrate(self.model_.evaluator(self._gold_examples(X, y), self.n_threads))
        return self

    @property
    def calibration_(self) -> Calibration | None:
        """How scores become probabilities; None before `calibrate`."""
        self._check_fitted()
        calibration: Calibration | None = self.model_.calibration
        return calibration

    @calibrated_method
    def log_probability(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return the log probability of every output of y as a whole; minus infinity where the model cannot predict it.

        Only after `calibrate`.
        """
        examples = self.model_.evaluator(self._gold_examples(X, y), self.n_threads).calibration_examples()
        found: NDArray[np.float64] = self.model_.log_probabilities(
            examples.task, Outputs(examples.gold), self.n_threads
        )
        return np.where(np.isnan(found), -np.inf, found)

    def _gold_examples(self, X: Any, y: Any) -> Any:
        """Return examples with gold outputs as the evaluator of the fitted model takes them."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Return the best output of every example."""
        raise NotImplementedError

    def predict_single(self, x: Any) -> Any:
        """Return the prediction for one example: one sentence, one row, one image."""
        return self.predict(x.reshape(1, -1) if hasattr(x, "tocsr") else [x])[0]

    def save(self, path: StrPath) -> None:
        """Write the model to one file, which the command line can use too."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def load(cls, path: StrPath) -> Self:
        """Read a model that `save` or the command line has written."""
        return cls.of_model(path, cls.model_type.load(path))

    @classmethod
    def of_model(cls, path: StrPath, model: Model) -> Self:
        """Return an estimator that is fitted with a model from a file."""
        try:
            given = _given_parameters(cls, model.settings)
            estimator = cls(**{**cls._own_parameters(model), **given})
            estimator._adopt(model)
        except MISFITS as error:
            raise misfit(path, "settings", error) from error
        return estimator

    @classmethod
    def _own_parameters(cls, model: Any) -> dict[str, Any]:
        """Return the constructor's parameters beyond the common ones with which a model was made."""
        raise NotImplementedError

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")


def _documented(function: Any, texts: Mapping[str, str]) -> Any:
    """Return a copy of a function whose documentation has these texts."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, closure=function.__closure__)
    copy.__defaults__, copy.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    copy.__annotations__ = function.__annotations__
    copy.__doc__ = with_shared_texts(function.__doc__, texts)
    return copy


def _given_parameters(estimator: type[Estimator], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor's parameters that were given for training, from the settings of a model."""
    if GIVEN not in settings:
        return _resolved_parameters(settings)
    known = {field.name for field in dataclasses.fields(estimator)}
    return {name: value for name, value in settings[GIVEN].items() if name in known}


def _resolved_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters that train in the same way, for models of versions that did not store what was given."""
    if settings.get("auto") is not None:
        return {"random_state": settings.get("seed", 0)}
    named = {"algorithm", "C", "tol", "max_iter", "loss"}
    preset = ALGORITHMS.get(settings.get("algorithm", ""))
    if preset is not None:  # what it does not have would be an error in the next fit
        named -= {"C", "tol", "loss"} - preset.learner.common
    return {
        "random_state": settings.get("seed", 0),
        "learner": {name: value for name, value in settings.get("learner", {}).items() if name != "name"} or None,
        "engine": {**_known_parameters(settings.get("engine", {})), **earlier_values(settings)} or None,
        **{name: settings[name] for name in named if name in settings},
    }


def _known_parameters(engine: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the parameters of an engine that models of earlier versions have and that it has no more."""
    retired = {"shared": {"updates"}}.get(engine.get("name", ""), set())
    return {name: value for name, value in engine.items() if name not in retired}
