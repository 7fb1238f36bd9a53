"""What `marginloom train` does for every task: checks of the options, the run and its report."""

from __future__ import annotations

import dataclasses
import json
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import typer

from marginloom.commands.caller import caller, without_words
from marginloom.commands.clusters import DASK_OPTIONS, chosen_cluster, recipe_of
from marginloom.commands.common import note, peak_memory_mb, usage_error, usage_errors
from marginloom.commands.ending import interrupted_exit_code
from marginloom.commands.held_out import HeldOut, check_share
from marginloom.commands.learner_options import by_owner
from marginloom.commands.outputs import Outputs, Saved
from marginloom.commands.report import print_report
from marginloom.commands.standard_input import check_standard_input
from marginloom.commands.streams import ReaderGone
from marginloom.commands.training_options import TrainingOptions
from marginloom.common.parameters import checked
from marginloom.errors import InputError, OptionWarning, OutputError, OutputWarning
from marginloom.io.names import shown
from marginloom.tasks.base.model import Model, Problem, Training
from marginloom.training.callbacks import Callback, ChoiceLine, EarlyStopping, ProgressBar
from marginloom.training.checkpoint import Checkpoint
from marginloom.training.interrupts import Interrupts, watch_ctrl_c
from marginloom.training.options import checked_spec
from marginloom.training.result import Result
from marginloom.training.run import Run
from marginloom.training.spec import CheckedSpec, RunSpec
from marginloom.training.state import State
from marginloom.training.world import Cluster, session_on


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """What a task has read from files.

    Attributes
    ----------
    problem : Problem
        The examples of the training files, and what to make of them.
    evaluation_sets : dict
        Examples with their right outputs, of every one of `TrainingOptions.evaluation_files`.
    """

    problem: Problem[Any]
    evaluation_sets: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class _Request:
    """The common options, checked."""

    spec: CheckedSpec
    outputs: Outputs


def run_training(
    options: TrainingOptions,
    model_type: type[Model],
    read: Callable[[], TrainingData],
    reads: Sequence[tuple[str, str]] = (),
) -> None:
    """Train as the options say, write the model and tell how it went; the task has checked its own options.

    Parameters
    ----------
    options : TrainingOptions
        The common options.
    model_type : type
        The task's kind of model.
    read : callable
        Reads the files; called when everything else has been found in order.
    reads : sequence of tuple
        Options of the task that name files which are read, each with its file.
    """
    if caller().task_only:
        caller().training = _training_for_another_process(options, read)
        return
    if options.quiet and not caller().in_python:
        warnings.simplefilter("ignore", UserWarning)
        for category in (OptionWarning, OutputWarning):  # what was asked for and is not done
            warnings.simplefilter("always", category)
    request = _checked(options)
    cluster = request.spec.cluster
    recipe = None if cluster is None else recipe_of([*options.training, *(path for _, path in reads)])
    with session_on(cluster, recipe) as session:
        if session.drives:
            _drive(options, request, model_type, read, reads)
        else:
            _serve(options, request, read)


def _drive(
    options: TrainingOptions,
    request: _Request,
    model_type: type[Model],
    read: Callable[[], TrainingData],
    reads: Sequence[tuple[str, str]],
) -> None:
    """Train in the process that decides, writes and tells."""
    request.outputs.check([*options.files_to_read, *reads])
    checkpoint = request.outputs.checkpoint
    with nullcontext() if checkpoint is None else checkpoint.in_use():
        if checkpoint is not None:
            _prepare(checkpoint, options)
        start = time.perf_counter()
        state = _state_of(options.warm_start, model_type) if options.warm_start is not None else None
        data = read()
        reading_seconds = time.perf_counter() - start
        with watch_ctrl_c() as interrupts:
            held_out = HeldOut.of(data.problem, options.calibrate)
            spec = dataclasses.replace(request.spec, warm_start=state)
            training, sets_to_score = _encoded(data, held_out.left_out_of(spec))
            del data  # nobody needs the text of the files any more
            caller().training = training
            _train(options, request.outputs, training, sets_to_score, reading_seconds, interrupts, held_out)


def _serve(options: TrainingOptions, request: _Request, read: Callable[[], TrainingData]) -> None:
    """Answer for a part until the run ends; nothing is said, and nothing written."""
    caller().serves = True
    spec = dataclasses.replace(request.spec, callbacks=(), checkpoint=None, trace_path=None, resume=False)
    with without_words(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = read()
            training, _ = _encoded(data, HeldOut.of(data.problem, options.calibrate).left_out_of(spec))
            caller().training = training
            training.train()
        except KeyboardInterrupt as error:  # the process that drives ends with the exit code
            raise typer.Exit(0) from error


def _training_for_another_process(options: TrainingOptions, read: Callable[[], TrainingData]) -> Training[Any]:
    """Return the task, encoded, and a run that says nothing of files or of a cluster."""
    spec = checked_spec(_spec(dataclasses.replace(options, quiet=True, patience=None, trace=None), None, None))
    data = read()
    spec = HeldOut.of(data.problem, options.calibrate).left_out_of(dataclasses.replace(spec, resume=False))
    return _encoded(data, spec)[0]


def _encoded(data: TrainingData, spec: RunSpec) -> tuple[Training[Any], dict[str, Any]]:
    """Return what is to be trained, scored after every pass on the development set, and what to score in the end."""
    sets = dict(data.evaluation_sets)
    scored_always = {"dev": sets.pop("dev")} if "dev" in sets else {}
    return Training.of(data.problem, spec, scored_always), sets


def _train(
    options: TrainingOptions,
    outputs: Outputs,
    training: Training[Any],
    sets_to_score: dict[str, Any],
    reading_seconds: float,
    interrupts: Interrupts,
    held_out: HeldOut,
) -> None:
    checkpoint, model = outputs.checkpoint, training.model
    result = training.train()
    interrupts.let_through()
    if result.stopped != "interrupted":
        _calibrate(options, training, held_out)
    saved = outputs.save(model, result.stopped == "interrupted")
    if checkpoint is not None and result.stopped != "interrupted" and not saved.failure:
        checkpoint.remove()
    if result.shortfall:
        note(f"marginloom: warning: {result.shortfall}", options.quiet)
    scores = {name: evaluator.report(model.weights) for name, evaluator in training.evaluators.items()}
    for name, labelled in sets_to_score.items():
        scores[name] = model.scores(labelled, options.training_threads)
    try:
        if options.as_json:
            seconds = {"read": reading_seconds, **result.seconds}
            print(json.dumps(_summary(model, result, seconds, scores)), flush=True)
        elif not options.quiet:
            print_report(result, {"model": saved.place, "trace": options.trace}, scores, model.steps())
    except (OSError, InputError, ReaderGone):
        # A closed terminal has interrupted the run too, and where a model is that had to go elsewhere must be said.
        if not interrupts.requested and not saved.failure:
            raise
    if interrupts.answer() or result.stopped == "interrupted":
        _say_interrupted(options, saved, checkpoint, result)
        if not saved.failure:
            raise typer.Exit(interrupted_exit_code())
    if saved.failure:
        raise OutputError(saved.failure)


def _calibrate(options: TrainingOptions, training: Training[Any], held_out: HeldOut) -> None:
    """Calibrate on what was held out, or else on the development part where that can be done."""
    model, line = training.model, None
    if held_out.labelled is not None:
        evaluator = model.evaluator(held_out.labelled, options.training_threads)
        line = model.calibrate(evaluator, held_out.first).describe()
    elif "dev" in training.evaluators and options.calibrate is None:
        try:
            line = model.calibrate(training.evaluators["dev"]).describe()
        except InputError as error:  # that it has no probabilities is no reason to lose a model
            line = f"none; {error}"
    if line is not None:
        note(f"calibration: {line}", options.quiet)


def _say_interrupted(options: TrainingOptions, saved: Saved, checkpoint: Checkpoint | None, result: Result) -> None:
    proof = "" if result.certificate else ", but not certified"
    kept = "" if saved.place == options.model or saved.failure else f"; {shown(options.model)} is left as it was"
    advice, place = "", shown(saved.place)
    if checkpoint is not None and checkpoint.exists():
        advice = f"; --resume goes on after pass {checkpoint.iteration}"
    passes = "1 pass" if result.iterations == 1 else f"{result.iterations} passes"
    note(f"interrupted after {passes}; the model in {place} is usable{proof}{kept}{advice}")


def _checked(options: TrainingOptions) -> _Request:
    with usage_errors():
        if options.patience is not None:
            checked("patience", options.patience, "positive count")
        checked("seed", options.seed, "seed")
        checkpoint = _checkpoint(options.checkpoint, options.checkpoint_interval, options.resume)
        outputs = Outputs(options.model, options.trace, checkpoint)
        outputs.check_distinct()
        spec = checked_spec(_spec(options, checkpoint, _cluster(options)))
    files = [path for _, path in options.files_to_read]
    check_standard_input(files, options.resume)
    if spec.cluster is not None and "-" in files:
        raise usage_error("- stands for standard input, which only one process of a cluster could read: name a file")
    with usage_errors():
        check_share(options.calibrate, options.dev is not None)
    if options.patience is not None and options.dev is None:
        raise usage_error("--patience needs --dev: it stops training when the score on that file no longer improves")
    return _Request(spec, outputs)


def _cluster(options: TrainingOptions) -> Cluster | None:
    given = {name: getattr(options, name) for name in DASK_OPTIONS}
    return chosen_cluster(options.cluster, {name: value for name, value in given.items() if value is not None})


def _spec(options: TrainingOptions, checkpoint: Checkpoint | None, cluster: Cluster | None) -> RunSpec:
    learner, engine = by_owner(options.specific)
    return RunSpec(
        algorithm=options.algorithm,
        C=options.C,
        tol=options.tol,
        loss=options.loss,
        memory=options.memory,
        learner=learner,
        engine=engine if options.engine is None else {"name": options.engine, **engine},
        max_iter=options.max_iter,
        n_threads=options.threads,
        random_state=options.seed,
        reproducible=options.reproducible,
        callbacks=_callbacks(options),
        keep_state=options.save_state,
        trace_path=options.trace,
        checkpoint=checkpoint,
        resume=options.resume,
        cluster=cluster,
    )


def _prepare(checkpoint: Checkpoint, options: TrainingOptions) -> None:
    """Make sure, before the long work, that no unfinished run is lost, and say where this one starts."""
    checkpoint.prepare(options.resume)
    if options.resume:
        found = "resuming from" if checkpoint.exists() else "starting from the beginning: there is no"
        note(f"{found} {shown(checkpoint.path)}", options.quiet)


def _callbacks(options: TrainingOptions) -> list[Callback]:
    callbacks: list[Callback] = [] if options.quiet else [ChoiceLine(note), _MemoryNote(), ProgressBar(choice=False)]
    if options.patience is not None:
        callbacks.append(EarlyStopping(options.patience))
    return callbacks


class _MemoryNote(Callback):
    """Says before training what it will need."""

    def before_training(self, run: Run) -> None:
        note(run.memory.describe())


def _checkpoint(folder: str | None, interval: float | None, resume: bool) -> Checkpoint | None:
    if folder is None:
        if resume or interval is not None:
            raise InputError(f"{'--resume' if resume else '--checkpoint-interval'} needs --checkpoint DIR")
        return None
    return Checkpoint(folder, interval=60.0 if interval is None else interval)


def _state_of(path: str, model_type: type[Model]) -> State:
    state = model_type.load(path).state
    if state is None:
        raise InputError(f"{shown(path)}: this model has no saved state to start from; train it with --save-state")
    return state


def _summary(model: Model, result: Result, seconds: dict[str, float], scores: dict[str, Any]) -> dict[str, Any]:
    names = ("dual", "gap")
    certificate = dataclasses.asdict(result.certificate) if result.certificate else dict.fromkeys(names)
    return {
        "algorithm": result.algorithm.name,
        "learner": result.algorithm.learner.name,
        "engine": result.algorithm.engine.name,
        "loss": result.loss,
        "iterations": result.iterations,
        "weights_iteration": result.weights_iteration,
        "threads": result.n_threads,
        "stopped": result.stopped,
        "seconds": {name: seconds[name] for name in ("read", "features", "train", "certify")},
        "primal": result.primal,
        **{name: certificate[name] for name in names},
        "exact": result.exact,
        "bounded": result.bounded,
        "weights": int(model.weights.size),
        "nonzero": int(np.count_nonzero(model.weights)),
        "active": result.active,
        "inferences": result.inferences,
        "updates": result.updates,
        "peak_memory_mb": peak_memory_mb(),
        **({} if result.asked is None else {"world": result.asked}),
        **({"steps": steps} if (steps := model.steps()) else {}),
        "scores": scores,
    }
