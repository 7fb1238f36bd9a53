"""Training a task: everything checked first, then the run, and the way out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marginloom.algorithms import find_algorithm
from marginloom.engines import Engine, Job
from marginloom.errors import InputError
from marginloom.io.files import StrPath
from marginloom.io.overwriting import refuse_same_outputs
from marginloom.learners import Learner, Objective
from marginloom.parameters import checked
from marginloom.tasks.base.task import Task
from marginloom.training.callbacks import Callback
from marginloom.training.checkpoint import Checkpoint, Identity, Saver, Snapshot, as_checkpoint
from marginloom.training.checks import check_loss, check_needs, check_threads, checked_sample_weight
from marginloom.training.interrupts import watch_ctrl_c
from marginloom.training.memory import plan_memory
from marginloom.training.result import Result
from marginloom.training.run import Evaluation, Run
from marginloom.training.state import State
from marginloom.training.trace import Trace


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
    >>> from marginloom.tasks.sequence.task import SequenceTask
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
