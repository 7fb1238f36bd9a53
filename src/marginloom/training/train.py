"""Training a task: everything checked first, then the run, and the way out."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Concatenate, ParamSpec

from marginloom.documentation import with_shared_texts
from marginloom.engines import Job
from marginloom.errors import InputError
from marginloom.io.files import StrPath
from marginloom.io.overwriting import refuse_same_outputs
from marginloom.tasks.base.task import Task
from marginloom.training.checkpoint import Identity, Saver, Snapshot, as_checkpoint
from marginloom.training.convergence import shortfall
from marginloom.training.interrupts import watch_ctrl_c
from marginloom.training.plan import Plan, make_plan
from marginloom.training.result import Result
from marginloom.training.run import Run
from marginloom.training.spec import PARAMETER_TEXT, RunSpec
from marginloom.training.trace import Trace

Fields = ParamSpec("Fields")


def _taking_fields(
    spec_type: Callable[Fields, RunSpec],
) -> Callable[[Callable[[Task, RunSpec], Result]], Callable[Concatenate[Task, Fields], Result]]:
    """Let a function of a task and a spec take the fields of the spec as arguments instead."""

    def decorate(function: Callable[[Task, RunSpec], Result]) -> Callable[Concatenate[Task, Fields], Result]:
        @functools.wraps(function)
        def with_fields(task: Task, *args: Fields.args, **fields: Fields.kwargs) -> Result:
            return function(task, spec_type(*args, **fields))

        task, fields = inspect.signature(function).parameters["task"], inspect.signature(spec_type).parameters
        with_fields.__signature__ = inspect.Signature([task, *fields.values()])  # type: ignore[attr-defined]
        with_fields.__doc__ = with_shared_texts(function.__doc__ or "", {"run parameters": PARAMETER_TEXT})
        return with_fields  # type: ignore[return-value]  # no field is called task

    return decorate


@_taking_fields(RunSpec)
def train(task: Task, spec: RunSpec) -> Result:
    """Train on a task.

    Parameters
    ----------
    task : Task
        What to learn.
    {run parameters}
    least_inferences : int
        Before so many it stops at a gap of 1e-9 only: in a small problem that takes no time, and the solution then
        hardly depends on the order of the examples.
    sample_weight : array, optional
        Factor of C for every example; 0 drops it.
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
    common : mapping
        Parameters of the learner for whichever ``auto`` chooses, which may have no use for them.

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
    from sklearn.exceptions import ConvergenceWarning  # before training: nothing may fail after it

    result = train_as(task, spec)
    if result.shortfall:
        warnings.warn(result.shortfall, ConvergenceWarning, stacklevel=3)
    return result


def train_as(task: Task, spec: RunSpec) -> Result:
    """Train on a task as a spec says, see `train`; who holds the result warns of its `shortfall`."""
    plan = make_plan(task, spec)
    learner = plan.algorithm.learner.build(task.core, plan.objective)
    engine = plan.algorithm.engine.build(Job(task.core, learner, plan.examples, plan.n_threads, plan.seed))
    saver = _saver(task, spec, plan)
    folder_in_use = nullcontext() if saver is None else saver.folder_in_use()
    with watch_ctrl_c() as interrupts, folder_in_use, Trace(plan.settings(task)) as trace:
        snapshot = saver.find(spec.resume) if saver is not None else None
        run = Run(task, plan, engine, spec, trace, interrupts)
        if snapshot is not None:
            run.resume(snapshot)
        elif spec.warm_start is not None:
            run.restore(spec.warm_start)
        interrupts.defer()
        stopped = _run_with_callbacks(run, spec.trace_path, saver, snapshot)
        if stopped != "interrupted":
            stopped = _certified_end(run, stopped)
        if stopped == "interrupted" and saver is not None:
            with suppress(KeyboardInterrupt):  # a second one: the last checkpoint must do
                saver.flush()
        interrupts.hold_back()
        state = run.state() if spec.keep_state else None
        weights = run.finish()
        if interrupts.answer():
            stopped = "interrupted"
        return Result(
            algorithm=plan.algorithm,
            loss=plan.loss,
            weights=weights,
            certificate=run.certificate,
            trace=trace,
            stopped=stopped,
            iterations=run.iteration,
            weights_iteration=run.weights_iteration,
            n_threads=plan.n_threads,
            seconds=run.seconds,
            inferences=run.inferences,
            updates=run.updates,
            active=run.active,
            state=state,
            memory=plan.memory,
            working_set_mb=run.working_set_mb,
            primal=run.certificate.primal if run.certificate else run.primal,
            exact=run.exact,
            bounded=run.bounded,
            chosen=plan.algorithm.learner.chosen(learner),
            shortfall=shortfall(stopped, run.certificate, plan.max_iter, plan.tol),
        )


def _saver(task: Task, spec: RunSpec, plan: Plan) -> Saver | None:
    """Return what saves the run, if there is a folder for that."""
    if spec.checkpoint is None:
        if spec.resume:
            raise InputError("resume goes on from a checkpoint, and there is no folder for one; give checkpoint=")
        return None
    place = as_checkpoint(spec.checkpoint)
    if spec.trace_path is not None:
        refuse_same_outputs([("trace_path", spec.trace_path), *(("checkpoint", path) for path in place.files)])
    weights = plan.objective.instance_weights
    return Saver(place, Identity.of_run(task, plan.settings(task), weights, spec.evaluations or {}), spec.callbacks)


def _run_with_callbacks(
    run: Run,
    trace_path: StrPath | None,
    saver: Saver | None,
    snapshot: Snapshot | None,
) -> str:
    started = []
    try:
        for callback in run.callbacks:
            callback.before_training(run)
            started.append(callback)
        if saver is not None and snapshot is not None:
            saver.restore_callbacks(snapshot)
        if trace_path is not None:
            run.trace.record_to(trace_path)
        return run.train(saver)
    finally:
        for callback in started:
            callback.after_training(run)


def _certified_end(run: Run, stopped: str) -> str:
    try:
        run.certify()
    except KeyboardInterrupt:
        return "interrupted"
    if run.weights_iteration is not None:
        if run.certificate is not None:
            run.trace.amend(run.weights_iteration, run.certificate.values())
        elif run.primal is not None:
            run.trace.amend(run.weights_iteration, {"primal": run.primal})
    return run.reason(stopped)
