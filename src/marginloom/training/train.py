"""Training a task: everything checked first, then the run, and the way out."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing, nullcontext, suppress
from typing import Any, Concatenate, ParamSpec

from marginloom.common.documentation import with_shared_texts
from marginloom.common.parameters import suggestion
from marginloom.core.task import Task
from marginloom.errors import InputError, PartError
from marginloom.io.files import StrPath
from marginloom.io.overwriting import refuse_same_outputs
from marginloom.training.checkpoint import Checkpoint, Identity, Saver, Snapshot, as_checkpoint
from marginloom.training.convergence import shortfall
from marginloom.training.interrupts import Interrupts, watch_ctrl_c
from marginloom.training.options import checked_spec
from marginloom.training.part import Part
from marginloom.training.plan import Decided, Plan, make_plan
from marginloom.training.result import Result
from marginloom.training.run import Run
from marginloom.training.spec import PARAMETER_TEXT, RunSpec
from marginloom.training.trace import Trace
from marginloom.training.world import Session, World, session_on

Fields = ParamSpec("Fields")


def _taking_fields(
    spec_type: Callable[Fields, RunSpec],
) -> Callable[[Callable[[Task, RunSpec], Result]], Callable[Concatenate[Task, Fields], Result]]:
    """Let a function of a task and a spec take the fields of the spec as arguments instead."""

    def decorate(function: Callable[[Task, RunSpec], Result]) -> Callable[Concatenate[Task, Fields], Result]:
        task, fields = inspect.signature(function).parameters["task"], inspect.signature(spec_type).parameters
        signature = inspect.Signature([task, *fields.values()])

        @functools.wraps(function)
        def with_fields(task: Task, *args: Fields.args, **given: Fields.kwargs) -> Result:
            try:  # or the error would be one of the spec, which nobody has called
                signature.bind(task, *args, **given)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}{_close(given, fields)}") from None
            return function(task, spec_type(*args, **given))

        with_fields.__signature__ = signature  # type: ignore[attr-defined]
        with_fields.__doc__ = with_shared_texts(function.__doc__ or "", {"run parameters": PARAMETER_TEXT})
        return with_fields  # type: ignore[return-value]  # no field is called task

    return decorate


def _close(given: Iterable[str], known: Collection[str]) -> str:
    """Suggest a name for the first that is not known."""
    return next((suggestion(name, known) for name in given if name not in known), "")


@_taking_fields(RunSpec)
def train(task: Task, spec: RunSpec) -> Result:
    """Train on a task.

    Parameters
    ----------
    task : Task
        What to learn.
    {run parameters}
    least_inferences : int
        With fewer inferences it stops only at a relative gap of 1e-12. In a small problem that takes no time, and the
        solution then hardly depends on the order of the examples.
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
        Folder in which to save from time to time what the run needs to go on. A checkpoint that was written stays
        there; call `Checkpoint.remove` once the result is safe.
    resume : bool
        Go on from the checkpoint, if there is one, which takes the place of `warm_start`. The problem, the algorithm
        and its parameters, C, the loss, the seed and the evaluation sets must be as they were; `tol`, `max_iter`,
        `n_threads`, `memory` and `trace_path` may change. ``"auto"`` goes on with the algorithm that it chose.

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
    spec = checked_spec(spec)
    with session_on(spec.cluster) as session:
        return _drive(task, spec, session) if session.drives else _serve(task, spec, session)


def _drive(task: Task, spec: RunSpec, session: Session) -> Result:
    """Run in the process that decides."""
    place = _place(spec)
    folder_in_use = nullcontext() if place is None else place.in_use()
    with watch_ctrl_c() as interrupts, folder_in_use:
        snapshot = None if place is None else place.unfinished(spec.resume)
        plan = make_plan(task, spec, Decided(None if snapshot is None else snapshot.choice), session.parts)
        if snapshot is not None:
            plan = snapshot.continued(plan, spec.engine)
        part = Part(task, plan, session.files)
        with closing(session.open(part, plan.decided.stored(), interrupts.stop)) as world:
            world.row()  # what it took to say hello belongs to no pass
            result = _train(task, spec, plan, place, snapshot, interrupts, world)
        session.share(*result.shared())
        return result


def _serve(task: Task, spec: RunSpec, session: Session) -> Result:
    """Answer for a part until the run ends, and return what has come out of it, as the process that decides does."""
    plans = []

    def make_part(decided: Mapping[str, Any]) -> Part:
        plans.append(make_plan(task, spec, Decided.from_stored(decided), session.parts))
        return Part(task, plans[-1], session.files)

    header, arrays = session.serve(make_part)
    return Result.from_shared(header, arrays, plans[-1])


def _train(
    task: Task,
    spec: RunSpec,
    plan: Plan,
    place: Checkpoint | None,
    snapshot: Snapshot | None,
    interrupts: Interrupts,
    world: World,
) -> Result:
    """Run a plan, from the beginning or from where a snapshot was made."""
    with Trace(plan.settings(task)) as trace:
        saver = None if place is None else _saver(task, spec, plan, place, snapshot)
        run = Run(task, plan, spec, trace, interrupts, world)
        if snapshot is not None:
            run.resume(snapshot)
        elif spec.warm_start is not None:
            run.restore(spec.warm_start)
        interrupts.defer()
        try:
            stopped = _run_with_callbacks(run, spec.trace_path, saver, snapshot)
            if stopped != "interrupted":
                stopped = _certified_end(run, stopped)
        except PartError as error:
            raise _with_way_out(error, saver, place) from error
        if stopped == "interrupted" and saver is not None:
            with suppress(KeyboardInterrupt):  # a second one: the last checkpoint must do
                saver.flush()
        interrupts.hold_back()
        state = run.state() if spec.keep_state else None
        weights = run.finish()
        if interrupts.answer():
            stopped = "interrupted"
        return Result(
            algorithm=run.algorithm,
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
            chosen=run.chosen_parameters,
            asked=world.summary(),
            shortfall=shortfall(stopped, run.certificate, plan.max_iter, plan.tol, lambda: task.scaled),
        )


def _with_way_out(error: PartError, saver: Saver | None, place: Checkpoint | None) -> PartError:
    """Save what a run had reached when its cluster failed, and return the error with what can be done."""
    if saver is None or place is None:
        return PartError(f"{error}; a run with a checkpoint (--checkpoint DIR) can go on after that")
    saver.flush()
    if not place.exists():
        return error
    return PartError(f"{error}; --resume (resume=True in Python) goes on after pass {place.iteration}")


def _place(spec: RunSpec) -> Checkpoint | None:
    """Return where the run is saved, if there is a folder for that."""
    if spec.checkpoint is None:
        if spec.resume:
            raise InputError("resume goes on from a checkpoint, and there is no folder for one; give checkpoint=")
        return None
    place = as_checkpoint(spec.checkpoint)
    if spec.trace_path is not None:
        refuse_same_outputs([("trace_path", spec.trace_path), *(("checkpoint", path) for path in place.files)])
    return place


def _saver(task: Task, spec: RunSpec, plan: Plan, place: Checkpoint, snapshot: Snapshot | None) -> Saver:
    """Return what saves the run; `InputError` unless the snapshot, if there is one, is of the same run."""
    weights, evaluations = plan.common.instance_weights, spec.evaluations or {}
    identity = Identity.of_run(task, plan.settings(task), weights, evaluations)
    if snapshot is not None:
        identity.check(place.path, snapshot.identity)
    place.remove_leftovers()
    return Saver(place, identity, spec.callbacks)


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
