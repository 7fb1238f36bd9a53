"""The outer loop of every training run: passes, certificates, evaluation, callbacks and the way out."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.algorithms import Algorithm, find_algorithm
from marginloom.callbacks import Callback
from marginloom.certificate import Certificate, checked_certificate
from marginloom.checkpoint import Checkpoint, Identity, Saver, Snapshot, as_checkpoint
from marginloom.checks import check_loss, check_needs, check_threads, checked_sample_weight
from marginloom.engines import Engine, Job
from marginloom.errors import InputError
from marginloom.interrupts import Interrupts, watch_ctrl_c
from marginloom.io.files import StrPath
from marginloom.io.overwriting import refuse_same_outputs
from marginloom.learners import Learner, Objective
from marginloom.memory import MB, MemoryPlan, plan_memory
from marginloom.objective import primal, relative_gap
from marginloom.parameters import checked
from marginloom.state import State
from marginloom.tasks.base import Task
from marginloom.trace import Row, Trace

Evaluation = Callable[[NDArray[np.float64]], dict[str, Any]]

#: The relative gap beyond which no run goes on for its own sake.
CLOSEST = 1e-9


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run returns.

    Attributes
    ----------
    weights : array
        The weights to predict with.
    certificate : Certificate or None
        For exactly these weights; None for learners without a dual, and if an interruption came before it. Where
        inference is neither exact nor bounded it holds estimates and certifies nothing.
    stopped : str
        Why it ended: ``tolerance`` (the certified gap is within `tol`), ``estimate`` (the gap is, but inference is
        inexact and without bounds, so that it is only an estimate), ``iterations``, ``separated``, ``unchanged``,
        ``early``, ``callback`` or ``interrupted``.
    iterations : int
        Passes that were made.
    weights_iteration : int or None
        Pass after which the weights were these: the last one, or an earlier one if a callback such as `EarlyStopping`
        went back to it. Its row of the trace has the certificate. None if they are those of no whole pass of this run.
    memory : MemoryPlan
        What it was expected to need.
    working_set_mb : float
        What the candidates that a dual learner keeps took in the end.
    primal : float or None
        The objective of exactly these weights if inference is `exact`, else an upper bound of it if inference is
        `bounded`, else an estimate. None for learners without one, and if an interruption came before it.
    exact, bounded : bool
        Whether the task's inference finds the largest violation, and whether it at least gives an upper bound of it.
    chosen : dict
        Parameters that the learner has chosen by itself, such as the first step of SGD.
    """

    algorithm: Algorithm
    loss: str | None
    weights: NDArray[np.float64]
    certificate: Certificate | None
    trace: Trace
    stopped: str
    iterations: int
    weights_iteration: int | None
    n_threads: int
    seconds: dict[str, float]
    inferences: int
    updates: int
    active: int
    state: State | None
    memory: MemoryPlan
    working_set_mb: float
    primal: float | None
    exact: bool
    bounded: bool
    chosen: dict[str, float]


class Run:
    """A training run as callbacks see it."""

    def __init__(
        self,
        task: Task,
        algorithm: Algorithm,
        engine: Any,
        *,
        max_iter: int,
        tol: float,
        least_inferences: int,
        n_threads: int,
        evaluations: Mapping[str, Evaluation],
        trace: Trace,
        memory: MemoryPlan,
        interrupts: Interrupts,
        objective: Objective,
    ) -> None:
        self.task = task
        self.objective = objective
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol
        self.least_inferences = least_inferences
        self.n_threads = n_threads
        self.trace = trace
        self.iteration = 0
        self.weights_iteration: int | None = None
        self.inferences = 0
        self.updates = 0
        self.active = 0
        self.memory = memory
        self.working_set_mb = 0.0
        self.certificate: Certificate | None = None
        self.primal: float | None = None
        self.seconds = {"train": 0.0, "certify": 0.0}
        self.exact = "exact" in task.core.capabilities
        self.bounded = "bounded" in task.core.capabilities
        self._reason_within_tolerance = "tolerance" if self.bounded else "estimate"
        self._engine = engine
        self._interrupts = interrupts
        self._evaluations = dict(evaluations)
        # Of a certified gap to the estimate of the same pass, which is made of the weights as they were visited, not
        # of their average.
        self._expected_ratio = 0.5 if getattr(algorithm.learner, "averaged", False) else 0.9

    @property
    def evaluation_sets(self) -> list[str]:
        """Names of the evaluation sets."""
        return list(self._evaluations)

    def weights(self) -> NDArray[np.float64]:
        """Return a copy of the weights that a model would have now."""
        weights: NDArray[np.float64] = self._engine.final_weights()
        return weights

    def last_weights(self) -> NDArray[np.float64]:
        """Return the weights without a copy where possible; training that goes on changes them."""
        weights: NDArray[np.float64] = self._engine.weights if self._engine.weights_are_final else self.weights()
        return weights

    def finish(self) -> NDArray[np.float64]:
        """Return the weights of the model, without a copy; the run cannot go on after this."""
        self._engine.finish()
        weights: NDArray[np.float64] = self._engine.weights
        return weights

    def state(self) -> State:
        """Return the state after the last iteration."""
        return State(
            self.algorithm.learner.name,
            self.task.fingerprint,
            self.iteration,
            self._engine.export_state(),
            self._problem,
        )

    @functools.cached_property
    def _problem(self) -> str:
        """Identify everything that the objective depends on."""
        digest = hashlib.sha256(self.task.identity.encode())
        digest.update(f"{self.objective.loss} {self.objective.C!r}".encode())
        digest.update(self.objective.instance_weights.tobytes())
        return digest.hexdigest()

    def restore(self, state: State) -> None:
        """Go back, or on, to a state of this learner on these examples."""
        state.check(self.algorithm.learner.name, self.task.fingerprint)
        try:
            self._engine.import_state(state.arrays)
        except ValueError as error:
            raise InputError(f"the state to start from does not fit: {error}") from error
        if state.problem != self._problem:
            self._engine.forget_averages()
        self.certificate = None
        row = self.trace.row(state.iteration) if state.problem == self._problem else None
        self.weights_iteration = None if row is None else state.iteration
        if row is not None:
            self.active, self.working_set_mb = row["active"], row["working_set_mb"]

    def progress(self) -> dict[str, Any]:
        """Return the counters, as a checkpoint holds them."""
        return {
            "iteration": self.iteration,
            "inferences": self.inferences,
            "updates": self.updates,
            "active": self.active,
            "seconds": self.seconds["train"],
            "expected_ratio": self._expected_ratio,
        }

    def resume(self, snapshot: Snapshot) -> None:
        """Go on where a checkpoint was made."""
        # Whether it is the same problem was found out before; checkpoints of earlier versions do not say it themselves.
        self.restore(dataclasses.replace(snapshot.state, problem=self._problem))
        self.iteration = snapshot.progress["iteration"]
        self.inferences = snapshot.progress["inferences"]
        self.updates = snapshot.progress["updates"]
        self.active = snapshot.progress["active"]
        self.seconds["train"] = snapshot.progress["seconds"]
        self._expected_ratio = snapshot.progress["expected_ratio"]
        self.trace.rows = list(snapshot.rows)
        self.weights_iteration = self.iteration

    def train(self, callbacks: Sequence[Callback], saver: Saver | None = None) -> str:
        """Iterate until something says stop, and return what it was."""
        try:
            while self.iteration < self.max_iter:
                if self._interrupts.requested:
                    return "interrupted"
                for callback in callbacks:
                    callback.before_iteration(self)
                row = self._iterate()
                if row is None:
                    return "interrupted"
                stopping = [callback for callback in callbacks if callback.after_iteration(self, row)]
                if self.within_tolerance() and self._has_done_enough():
                    return self._reason_within_tolerance
                if reason := self.algorithm.learner.converged(self.trace.rows):
                    return reason
                if stopping:
                    return stopping[0].stop_reason
                if saver is not None:  # never after the pass that ends the run: resuming would add another one
                    saver.after_pass(self)
        except KeyboardInterrupt:  # the second one, or one that a callback or task has raised
            return "interrupted"
        return "iterations"

    def certify(self, objective: Objective) -> None:
        """Make sure that there is a certificate for the current weights, or at least their primal, if there is one."""
        learner = self.algorithm.learner
        if learner.kind == "dual":
            self.certificate = self.certificate or self._certify()
        elif learner.losses:
            with self._clock("certify"):
                self.primal = primal(
                    self.task,
                    self.weights(),
                    C=objective.C,
                    loss=objective.loss,
                    sample_weight=objective.instance_weights,
                    n_threads=self.n_threads,
                    stop=self._interrupts.stop,
                )

    def _iterate(self) -> Row | None:
        """Do one pass and record it; None if it was interrupted."""
        self.certificate = None
        self.weights_iteration = None
        with self._clock("train"):
            report = self._engine.run_pass(self._interrupts.stop)
        self.inferences += report["inferences"]
        self.updates += report["updates"]
        self.active = report["active"]
        self.working_set_mb = report["working_set_bytes"] / MB
        if report["stopped"]:
            return None
        self.iteration += 1
        self.weights_iteration = self.iteration
        row: Row = {
            "iteration": self.iteration,
            "seconds": self.seconds["train"],
            "primal": report["primal"],
            "dual": report["dual"],
            "gap": relative_gap(report["primal"], report["dual"]),
            "certified": False,
            "wrong": report["wrong"],
            "training_loss": report["training_loss"],
            "inferences": self.inferences,
            "updates": self.updates,
            "active": self.active,
            "working_set_mb": self.working_set_mb,
            "candidates": report["candidates"],
            "weights_age": report["weights_age"],
            "threads": report["threads"],
            "scores": {},
        }
        try:
            if row["gap"] is not None and row["gap"] * self._expected_ratio <= self.tol:
                self._certify_early(row)
            if self._evaluations:
                weights = self.last_weights()
                row["scores"] = {name: evaluate(weights) for name, evaluate in self._evaluations.items()}
        finally:  # the pass was made, whatever became of its certificate and scores
            self.trace.append(row)
        return row

    def _certify_early(self, row: Row) -> None:
        """Check a promising estimate, and learn from it when the next one is worth checking."""
        estimate = row["gap"]
        certificate = self._certify()
        row.update(certificate.values())
        if not self.within_tolerance():  # an ordinary part of training, then
            self.seconds["train"] += self.seconds["certify"]
            self.seconds["certify"] = 0.0
            row["seconds"] = self.seconds["train"]
            ratio = certificate.gap / estimate if estimate > 0 else 1.0
            self._expected_ratio = min(max(ratio, 0.5), 1.0)  # one odd pass must not put off the next check for long

    def _certify(self) -> Certificate:
        self.seconds["certify"] = 0.0
        with self._clock("certify"):
            found = self._engine.certify(self.n_threads, self._interrupts.stop)
        if not found["complete"]:
            raise KeyboardInterrupt
        self.certificate = checked_certificate(self.task, found)
        return self.certificate

    def within_tolerance(self) -> bool:
        """Tell whether the current weights are close enough to the optimum, by all that is known of them."""
        return self.certificate is not None and self.certificate.gap <= self.tol

    def reason(self, stopped: str) -> str:
        """Return why the run has ended, given why its passes have, once the certificate of its weights is known."""
        if stopped == "iterations" and self.within_tolerance():
            return self._reason_within_tolerance
        if stopped == self._reason_within_tolerance and not self.within_tolerance():
            return "early"  # a callback has gone back to an earlier pass
        return stopped

    def _has_done_enough(self) -> bool:
        """Tell whether to stop within the tolerance, or to go on because that costs nothing."""
        assert self.certificate is not None
        return self.inferences >= self.least_inferences or self.certificate.gap <= CLOSEST

    @contextmanager
    def _clock(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start


def train(
    task: Task,
    *,
    algorithm: str = "dcd-ssvm",
    C: float = 0.1,
    loss: str | None = None,
    tol: float = 0.01,
    least_inferences: int = 0,
    max_iter: int | None = None,
    n_threads: int = 1,
    memory: int | str | None = None,
    random_state: int = 0,
    sample_weight: ArrayLike | None = None,
    learner: Mapping[str, Any] | Learner | None = None,
    engine: str | Mapping[str, Any] | Engine | None = None,
    evaluations: Mapping[str, Evaluation] | None = None,
    callbacks: Sequence[Callback] = (),
    warm_start: State | None = None,
    keep_state: bool = False,
    trace_path: StrPath | None = None,
    checkpoint: StrPath | Checkpoint | None = None,
    resume: bool = False,
) -> Result:
    """Train on a task.

    Parameters
    ----------
    task : Task
        What to learn.
    algorithm : str
        A preset; `marginloom.algorithms.ALGORITHMS` lists them.
    C : float
        Cost of slack per example, in 1/2 |w|^2 + sum_i C_i loss(slack_i).
    loss : {"squared_hinge", "hinge"}, optional
        Loss of the slack; by default the learner's own.
    tol : float
        Certified relative gap at which a learner with a dual stops; an estimated one where inference is inexact and
        without bounds.
    least_inferences : int
        Before so many it stops at a gap of 1e-9 only: in a small problem that takes no time, and the solution then
        hardly depends on the order of the examples.
    max_iter : int, optional
        Passes at most; by default 100 for learners with a dual and 10 for the others.
    n_threads : int
        Threads for what the algorithm can share out; -1 for all cores.
    memory : int or str, optional
        For the candidates that a dual learner keeps: bytes, or a text such as ``"500M"``. It changes the time and not
        the result. By default half of what is free.
    random_state : int
        Seed; the same one gives the same bits.
    sample_weight : array, optional
        Factor of C for every example; 0 drops it.
    learner, engine : mapping or ready object, optional
        Their own parameters, or the name of another engine that the learner has; see `find_algorithm`.
    evaluations : mapping, optional
        Functions from weights to scores, called after every pass.
    callbacks : sequence of Callback
        What else to do between passes.
    warm_start : State, optional
        Start from there instead of from nothing.
    keep_state : bool
        Put the final `State` into the result.
    trace_path : path, optional
        JSON-lines file for the trace.
    checkpoint : path or Checkpoint, optional
        Folder in which to save from time to time what the run needs to go on. The checkpoint stays there; call
        `Checkpoint.remove` once the result is safe.
    resume : bool
        Go on from the checkpoint, if there is one, which takes the place of `warm_start`. Everything but `tol`,
        `max_iter` and `n_threads` must be as it was.

    Returns
    -------
    Result
        Weights, certificate, trace and counts.

    Examples
    --------
    >>> from marginloom.tasks.sequence import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> train(task, C=1.0, tol=0.001).certificate.gap <= 0.001
    True
    """
    chosen = find_algorithm(algorithm, learner, engine)
    loss = check_loss(chosen.learner, loss)
    C = checked("C", C, "positive")
    tol = checked("tol", tol, "positive")
    least_inferences = checked("least_inferences", least_inferences, "count")
    passes = checked("max_iter", chosen.learner.default_max_iter if max_iter is None else max_iter, "positive count")
    seed = checked("random_state", random_state, "seed")
    threads = check_threads(chosen, n_threads)
    check_needs(task, chosen)
    plan = plan_memory(task, chosen, threads, memory, keeps_state=keep_state or checkpoint is not None)
    instance_weights = checked_sample_weight(task.example_weights(sample_weight), task.core.size, C)
    objective = Objective(C, loss or "", instance_weights, plan.working_sets)
    native_learner = chosen.learner.build(task.core, objective)
    examples = np.flatnonzero(instance_weights).astype(np.uint64)
    native_engine = chosen.engine.build(Job(task.core, native_learner, examples, threads, seed))
    settings = {
        "algorithm": algorithm,
        "learner": {"name": chosen.learner.name, **dataclasses.asdict(chosen.learner)},
        "engine": {"name": chosen.engine.name, **dataclasses.asdict(chosen.engine)},
        "loss": loss,
        "C": C,
        "tol": tol,
        "max_iter": passes,
        "threads": threads,
        "seed": seed,
        "examples": int(examples.size),
        "weights": task.core.dimension,
    }
    evaluations = evaluations or {}
    saver = None
    if checkpoint is not None:
        place = as_checkpoint(checkpoint)
        if trace_path is not None:
            refuse_same_outputs([("trace_path", trace_path), *(("checkpoint", path) for path in place.files)])
        saver = Saver(place, Identity.of_run(task, settings, instance_weights, evaluations), callbacks)
    elif resume:
        raise InputError("resume goes on from a checkpoint, and there is no folder for one; give checkpoint=")
    folder_in_use = nullcontext() if saver is None else saver.folder_in_use()
    with watch_ctrl_c() as interrupts, folder_in_use, Trace(settings) as trace:
        snapshot = saver.find(resume) if saver is not None else None
        run = Run(
            task,
            chosen,
            native_engine,
            max_iter=passes,
            tol=tol,
            least_inferences=least_inferences,
            n_threads=threads,
            evaluations=evaluations,
            trace=trace,
            memory=plan,
            interrupts=interrupts,
            objective=objective,
        )
        if snapshot is not None:
            run.resume(snapshot)
        elif warm_start is not None:
            run.restore(warm_start)
        interrupts.defer()
        stopped = _run_with_callbacks(run, callbacks, trace_path, saver, snapshot)
        if stopped != "interrupted":
            stopped = _certified_end(run, objective, stopped)
        if stopped == "interrupted" and saver is not None:
            with suppress(KeyboardInterrupt):  # a second one: the last checkpoint must do
                saver.flush()
        state = run.state() if keep_state else None
        weights = run.finish()
        if interrupts.answer():
            stopped = "interrupted"
        return Result(
            algorithm=chosen,
            loss=loss,
            weights=weights,
            certificate=run.certificate,
            trace=trace,
            stopped=stopped,
            iterations=run.iteration,
            weights_iteration=run.weights_iteration,
            n_threads=threads,
            seconds=run.seconds,
            inferences=run.inferences,
            updates=run.updates,
            active=run.active,
            state=state,
            memory=plan,
            working_set_mb=run.working_set_mb,
            primal=run.certificate.primal if run.certificate else run.primal,
            exact=run.exact,
            bounded=run.bounded,
            chosen=chosen.learner.chosen(native_learner),
        )


def _run_with_callbacks(
    run: Run,
    callbacks: Sequence[Callback],
    trace_path: StrPath | None,
    saver: Saver | None,
    snapshot: Snapshot | None,
) -> str:
    started = []
    try:
        for callback in callbacks:
            callback.before_training(run)
            started.append(callback)
        if saver is not None and snapshot is not None:
            saver.restore_callbacks(snapshot)
        if trace_path is not None:
            run.trace.record_to(trace_path)
        return run.train(callbacks, saver)
    finally:
        for callback in started:
            callback.after_training(run)


def _certified_end(run: Run, objective: Objective, stopped: str) -> str:
    try:
        run.certify(objective)
    except KeyboardInterrupt:
        return "interrupted"
    if run.weights_iteration is not None:
        if run.certificate is not None:
            run.trace.amend(run.weights_iteration, run.certificate.values())
        elif run.primal is not None:
            run.trace.amend(run.weights_iteration, {"primal": run.primal})
    return run.reason(stopped)
