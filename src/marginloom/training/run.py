"""The loop of passes of a training run, with its certificates and scores: what callbacks see."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.algorithms import Algorithm
from marginloom.common.memory import MB
from marginloom.core.row import Row
from marginloom.core.task import Task
from marginloom.engines.base import Job
from marginloom.errors import InputError
from marginloom.training.certificate import Certificate, checked_certificate
from marginloom.training.checkpoint import Saver, Snapshot
from marginloom.training.interrupts import Interrupts
from marginloom.training.objective import primal
from marginloom.training.pass_row import pass_row
from marginloom.training.plan import Plan, algorithm_settings
from marginloom.training.spec import RunSpec
from marginloom.training.state import State
from marginloom.training.trace import Trace
from marginloom.training.world import World

#: The relative gap beyond which no run goes on for its own sake: rounding. Weights are off by its root.
CLOSEST = 1e-15


class Run:
    """A training run as callbacks see it."""

    def __init__(
        self,
        task: Task,
        plan: Plan,
        spec: RunSpec,
        trace: Trace,
        interrupts: Interrupts,
        world: World,
    ) -> None:
        self.task = task
        self.world = world
        self.common = plan.common
        self.algorithm = plan.algorithm
        self.choice = plan.choice
        #: What has chosen the algorithm if it was ``auto``, and why; None if it was named.
        self.reason_of_choice = None if plan.choice is None else plan.choice.reason
        self.max_iter = plan.max_iter
        self.tol = plan.tol
        self.least_inferences = plan.least_inferences
        self.n_threads = plan.n_threads
        self.memory = plan.memory
        self.callbacks = spec.callbacks
        self.trace = trace
        self.iteration = 0
        self.weights_iteration: int | None = None
        self.inferences = 0
        self.updates = 0
        self.active = 0
        self.working_set_mb = 0.0
        self.certificate: Certificate | None = None
        self.primal: float | None = None
        self.seconds = {"train": 0.0, "certify": 0.0}
        self.bounded = "bounded" in task.core.capabilities
        self._reason_within_tolerance = "tolerance" if self.bounded else "estimate"
        self._plan = plan
        self._turn = plan.turn
        self._resumed = False
        self._interrupts = interrupts
        self._evaluations = dict(spec.evaluations or {})
        self._take(plan.algorithm)

    def _take(self, algorithm: Algorithm) -> None:
        """Make the native learner and engine of an algorithm."""
        plan = self._plan
        self.algorithm = algorithm
        self._learner = algorithm.learner.build(self.task.core, plan.common)
        job = Job(self.task.core, self._learner, plan.examples, plan.n_threads, plan.seed)
        self._engine = algorithm.engine.build(job)
        # Of a certified gap to the estimate of the same pass, which is made of the weights as they were visited, not
        # of their average.
        self._expected_ratio = 0.5 if getattr(algorithm.learner, "averaged", False) else 0.9

    def _turn_to(self, algorithm: Algorithm) -> None:
        """Go on with another algorithm, and tell models of it; the trace's rows say which one has made them."""
        self._turn = None
        made = sum(row.get("algorithm") == self.algorithm.name for row in self.trace.rows)
        before = f"after {made} passes of {self.algorithm.name}, which stalled" if made else ""
        had = self.algorithm.training_threads(self.n_threads)
        self._take(algorithm)
        has = algorithm.training_threads(self.n_threads)
        threads = f"{algorithm.name} has {has} thread{'' if has == 1 else 's'}" if has < had else ""
        self.reason_of_choice = "; ".join(filter(None, (self.reason_of_choice, before, threads)))
        self.trace.settings |= {**algorithm_settings(algorithm), "auto": self.reason_of_choice}

    @property
    def choice_line(self) -> str | None:
        """What ``auto`` has chosen and why, in a line; None if an algorithm was named."""
        if self.reason_of_choice is None:
            return None
        bits = "" if self.algorithm.engine.gives_same_bits(self.n_threads) else "; not deterministic"
        before = "; chosen before the checkpoint" if self._resumed else ""
        return f"auto chose {self.algorithm.name} ({self.reason_of_choice}{bits}{before})"

    @property
    def chosen_parameters(self) -> dict[str, float]:
        """Parameters that the native learner has chosen by itself."""
        return self.algorithm.learner.chosen(self._learner)

    @property
    def exact(self) -> bool:
        """Whether inference has found the best output so far: a search may be cut off at a limit, with a bound."""
        return "exact" in self.task.core.capabilities

    @property
    def evaluation_sets(self) -> list[str]:
        """Names of the evaluation sets."""
        return list(self._evaluations)

    def weights(self) -> NDArray[np.float64]:
        """Return a copy of the weights that a model would have now."""
        return self._engine.final_weights()

    def last_weights(self) -> NDArray[np.float64]:
        """Return the weights without a copy where possible; training that goes on changes them."""
        return self._engine.weights if self._engine.weights_are_final else self.weights()

    def finish(self) -> NDArray[np.float64]:
        """Return the weights of the model, without a copy; the run cannot go on after this."""
        self._engine.finish()
        return self._engine.weights

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
        digest.update(f"{self.common.loss} {self.common.C!r}".encode())
        digest.update(self.common.instance_weights.tobytes())
        return digest.hexdigest()

    def restore(self, state: State) -> None:
        """Go back, or on, to a state of this learner on these examples."""
        if self._turn is not None and state.learner == self._turn.algorithm.learner.name:
            self._turn_to(self._turn.algorithm)
        elif state.learner == self._plan.algorithm.learner.name != self.algorithm.learner.name:
            self._take(self._plan.algorithm)
        state.check(self.algorithm.learner, self.task.fingerprint)
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
        self._resumed = True
        # Whether it is the same problem was found out before; checkpoints of earlier versions do not say it themselves.
        self.trace.rows = list(snapshot.rows)
        self.restore(dataclasses.replace(snapshot.state, problem=self._problem))
        self.iteration = snapshot.progress["iteration"]
        self.inferences = snapshot.progress["inferences"]
        self.updates = snapshot.progress["updates"]
        self.active = snapshot.progress["active"]
        self.seconds["train"] = snapshot.progress["seconds"]
        self._expected_ratio = snapshot.progress["expected_ratio"]
        self.weights_iteration = self.iteration

    def train(self, saver: Saver | None = None) -> str:
        """Iterate until something says stop, and return what it was."""
        try:
            while self.iteration < self.max_iter:
                if self._interrupts.requested:
                    return "interrupted"
                for callback in self.callbacks:
                    callback.before_iteration(self)
                row = self._iterate()
                if row is None:
                    return "interrupted"
                stopping = [callback for callback in self.callbacks if callback.after_iteration(self, row)]
                if self.within_tolerance() and self._has_done_enough():
                    return self._reason_within_tolerance
                if reason := self.algorithm.learner.converged(self.trace.rows):
                    return reason
                if stopping:
                    return stopping[0].stop_reason
                if self._turn is not None and self._turn.is_due(self.trace.rows, self.tol):
                    duals = self._engine.export_state()
                    self._turn_to(self._turn.algorithm)
                    self._engine.import_state(duals)
                if saver is not None:  # never after the pass that ends the run: resuming would add another one
                    saver.after_pass(self)
        except KeyboardInterrupt:  # the second one, or one that a callback or task has raised
            return "interrupted"
        return "iterations"

    def certify(self) -> None:
        """Make sure that there is a certificate for the current weights, or at least their primal, if there is one."""
        learner = self.algorithm.learner
        if learner.has_dual():
            self.certificate = self.certificate or self._certify()
        elif learner.losses:
            with self._clock("certify"), self._certifying():
                self.primal = primal(
                    self.task,
                    self.weights(),
                    C=self.common.C,
                    loss=self.common.loss,
                    sample_weight=self.common.instance_weights,
                    n_threads=self.n_threads,
                    stop=self._interrupts.stop,
                    progress=self._show_certificate,
                    world=self.world,
                )

    def _iterate(self) -> Row | None:
        """Do one pass and record it; None if it was interrupted."""
        self.certificate = None
        self.weights_iteration = None
        with self._clock("train"):
            report = self._engine.run_pass(self._interrupts.stop, self.world.native)
        self.inferences += report.inferences // self.task.core.examples_per_row
        self.updates += report.updates
        self.active = report.active
        self.working_set_mb = report.working_set_bytes / MB
        if report.stopped:
            return None
        self.iteration += 1
        self.weights_iteration = self.iteration
        row = pass_row(
            report,
            iteration=self.iteration,
            algorithm=self.algorithm.name,
            seconds=self.seconds["train"],
            inferences=self.inferences,
            updates=self.updates,
        )
        try:
            if row["gap"] is not None and row["gap"] * self._expected_ratio <= self.tol:
                self._certify_early(row)
            if self._evaluations:
                weights = self.last_weights()
                row["scores"] = {name: evaluate(weights) for name, evaluate in self._evaluations.items()}
        finally:  # the pass was made, whatever became of its certificate and scores
            if (asked := self.world.row()) is not None:
                row["world"] = asked
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
        with self._clock("certify"), self._certifying():
            stop, world = self._interrupts.stop, self.world.native
            found = self._engine.certify(self.n_threads, stop, self._show_certificate, world)
        assert found is not None  # learners with a dual have one
        if not found.complete:
            raise KeyboardInterrupt
        self.certificate = checked_certificate(self.task, found)
        return self.certificate

    def _show_certificate(self, done: int, total: int) -> None:
        for callback in self.callbacks:
            callback.during_certificate(self, done, total)

    @contextmanager
    def _certifying(self) -> Iterator[None]:
        try:
            yield
        finally:
            for callback in self.callbacks:
                callback.after_certificate(self)

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
