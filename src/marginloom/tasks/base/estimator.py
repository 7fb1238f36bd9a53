"""What all estimators have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from marginloom.engines import Engine
from marginloom.io.files import StrPath
from marginloom.io.model import MISFITS, misfit
from marginloom.learners import Learner
from marginloom.tasks.base.model import Model
from marginloom.training.callbacks import Callback, ProgressBar
from marginloom.training.certificate import Certificate
from marginloom.training.checkpoint import Checkpoint, as_checkpoint
from marginloom.training.interrupts import watch_ctrl_c
from marginloom.training.result import Result

#: Texts that stand for their names in braces, alone on a line, in the documentation of estimators and their `fit`.
SHARED_TEXTS = {
    "common parameters": """
algorithm : str
    How to train; ``marginloom algorithms`` lists the choices.
C : float
    Cost of slack per example, in 1/2 |w|^2 + sum_i C_i loss(slack_i).
tol : float
    Certified relative gap at which a learner with a dual stops.
max_iter : int, optional
    Passes at most; by default 100 for learners with a dual and 10 for the others.
loss : {"squared_hinge", "hinge"}, optional
    Loss of the slack; by default the learner's own.
n_threads : int
    Threads for what the algorithm can share out, for evaluation and prediction; -1 for all cores.
memory : int or str, optional
    For the candidates that a learner with a dual keeps: bytes, or a text such as ``"500M"``. It changes the time
    and not the result. By default half of what is free.
random_state : int, optional
    Seed; the same one gives the same bits. None draws one.
learner, engine : mapping or ready object, optional
    Parameters of the learner and of the engine; or the name of another engine that the learner has, such as
    ``"master-worker"``, alone or as ``"name"`` among the parameters.
warm_start : bool
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
}


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators.

    A subclass names its `model_type`, declares all parameters of its constructor, as scikit-learn wants it, and writes
    `fit` around `_fit`, `_own_parameters` for `load`, and `_adopt` if it has more fitted attributes.
    """

    model_type: ClassVar[type[Model]]

    algorithm: str
    C: float
    tol: float
    max_iter: int | None
    loss: str | None
    n_threads: int
    memory: int | str | None
    random_state: int | None
    learner: Mapping[str, Any] | Learner | None
    engine: str | Mapping[str, Any] | Engine | None
    warm_start: bool
    verbose: bool

    model_: Any
    certificate_: Certificate | None
    history_: list[dict[str, Any]]
    n_iter_: int
    stopped_: str

    def __init_subclass__(cls, **options: Any) -> None:
        """Fill in the shared texts of the documentation."""
        super().__init_subclass__(**options)
        for documented in (cls, cls.__dict__.get("fit")):
            if documented is not None and documented.__doc__ is not None:
                documented.__doc__ = _with_shared_texts(documented.__doc__)

    @watch_ctrl_c()
    def _fit(
        self,
        train_model: Callable[..., tuple[Model, Result]],
        *,
        callbacks: Sequence[Callback],
        checkpoint: StrPath | Checkpoint | None,
        resume: bool,
        attributes: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Train by a function that takes the options of `fit_model`, and keep what comes out.

        `attributes` are fitted ones that the model alone does not tell. After an interruption they are all set as well,
        and `KeyboardInterrupt` is raised: who fits in a loop wants to leave the loop.
        """
        fitted: Model | None = getattr(self, "model_", None)
        place = None if checkpoint is None else as_checkpoint(checkpoint)
        with nullcontext() if place is None else place.in_use():
            model, result = train_model(
                algorithm=self.algorithm,
                C=self.C,
                tol=self.tol,
                max_iter=self.max_iter,
                loss=self.loss,
                n_threads=self.n_threads,
                memory=self.memory,
                random_state=_seed(self.random_state),
                learner=self.learner,
                engine=self.engine,
                callbacks=[*([ProgressBar()] if self.verbose else []), *callbacks],
                warm_start=fitted.state if fitted is not None and self.warm_start else None,
                keep_state=self.warm_start,
                checkpoint=place,
                resume=resume,
                **options,
            )
            self._adopt(model)
            self.history_ = result.trace.rows
            for name, value in (attributes or {}).items():
                setattr(self, name, value)
            if result.stopped == "interrupted":
                raise KeyboardInterrupt(
                    f"training was interrupted after {result.iterations} iterations; the estimator is fitted with the "
                    "weights that it had"
                )
            if place is not None:
                place.remove()
        return self

    def _adopt(self, model: Model) -> None:
        """Set the fitted attributes that follow from a model."""
        self.model_ = model
        self.certificate_ = model.certificate
        self.history_ = []
        self.n_iter_ = model.settings.get("iterations", 0)
        self.stopped_ = model.settings.get("stopped", "")

    def save(self, path: StrPath) -> None:
        """Write the model to one file, which the command line can use too."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def load(cls, path: StrPath) -> Self:
        """Read a model that `save` or the command line has written."""
        model = cls.model_type.load(path)
        try:
            estimator = cls(**_common_parameters(model.settings), **cls._own_parameters(model))
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


def _common_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor's parameters that all estimators have, from the settings of a model."""
    named = ("algorithm", "C", "tol", "max_iter", "loss")
    return {
        "random_state": settings.get("seed", 0),
        "learner": {name: value for name, value in settings.get("learner", {}).items() if name != "name"} or None,
        "engine": _known_parameters(settings.get("engine", {})) or None,
        **{name: settings[name] for name in named if name in settings},
    }


def _known_parameters(engine: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the parameters of an engine that models of earlier versions have and that it has no more."""
    retired = {"shared": {"updates"}}.get(engine.get("name", ""), set())
    return {name: value for name, value in engine.items() if name not in retired}


def _with_shared_texts(documentation: str) -> str:
    lines: list[str] = []
    for line in documentation.splitlines():
        text = SHARED_TEXTS.get(line.strip().removeprefix("{").removesuffix("}"))
        if text is None:
            lines.append(line)
        else:
            indent = line[: len(line) - len(line.lstrip())]
            lines += [f"{indent}{shared}" for shared in text.strip("\n").splitlines()]
    return "\n".join(lines)


def _seed(random_state: int | None) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return random_state
