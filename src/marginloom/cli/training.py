"""What `marginloom train` does for every task: the common options, the checks, the run and its report."""

from __future__ import annotations

import dataclasses
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import numpy as np
import typer

from marginloom.algorithms import AUTO, Algorithm
from marginloom.cli.common import (
    JsonOption,
    ThreadsOption,
    note,
    peak_memory_mb,
    score_lines,
    usage_error,
    usage_errors,
)
from marginloom.cli.ending import interrupted_exit_code
from marginloom.cli.outputs import Outputs, Saved
from marginloom.cli.parameters import COMMON, by_owner, choose, with_options
from marginloom.cli.standard_input import check_standard_input
from marginloom.cli.streams import ReaderGone
from marginloom.engines import Engine
from marginloom.errors import InputError, OutputError, OutputWarning
from marginloom.io.files import StrPath
from marginloom.io.overwriting import named_files
from marginloom.learners import Learner
from marginloom.memory import MB, parse_size
from marginloom.parameters import checked, option_name
from marginloom.tasks.base.model import Model, Problem, fit_model
from marginloom.training.callbacks import Callback, EarlyStopping, ProgressBar
from marginloom.training.checkpoint import Checkpoint
from marginloom.training.checks import check_loss, check_loss_name, check_reproducible, check_threads
from marginloom.training.interrupts import watch_ctrl_c
from marginloom.training.result import Result
from marginloom.training.run import Run
from marginloom.training.spec import RunParameters, RunSpec
from marginloom.training.state import State

#: Options that learners may or may not have a use for.
COMMON_OPTIONS = ("C", "tol", "loss", "memory")

#: Labels whose scores are shown after training; an object of JSON has all.
MOST_LABELS = 20

MinCountOption = Annotated[
    int, typer.Option("--min-count", metavar="N", help="Leave out features seen less often in training.")
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """The options that every task has, as they were given on the command line."""

    training: Annotated[
        list[str], typer.Argument(metavar="TRAIN", help="Training files; plain, .gz or .xz; - is standard input.")
    ]
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="Where to write the model.")]
    dev: Annotated[str | None, typer.Option("--dev", metavar="F", help="Scored after every pass.")] = None
    test: Annotated[str | None, typer.Option("--test", metavar="F", help="Scored at the end.")] = None
    algorithm: Annotated[
        str,
        typer.Option("--algorithm", metavar="NAME", help="auto chooses one; 'marginloom algorithms' lists them."),
    ] = RunParameters.algorithm
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="Another engine than the algorithm's own; 'marginloom algorithms NAME' shows which ones it can have.",
        ),
    ] = None
    loss: Annotated[str | None, typer.Option("--loss", metavar="hinge|squared_hinge", help="Loss of slack.")] = None
    C: Annotated[float | None, typer.Option("--C", metavar="C", help="Cost of slack per example. [default 0.1]")] = None
    tol: Annotated[
        float | None,
        typer.Option("--tol", metavar="GAP", help="Certified relative gap to stop at. [default 0.01]"),
    ] = None
    max_iter: Annotated[
        int | None,
        typer.Option("--max-iter", metavar="N", help="Passes at most. [default 100; online learners 10]"),
    ] = None
    threads: ThreadsOption = 1
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="For the candidates that a learner with a dual keeps, such as 500M or 2G; changes the time and not "
            "the result. [default: half of what is free]",
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="For the order of the examples.")] = 0
    reproducible: Annotated[
        bool,
        typer.Option("--reproducible", help="Train only in ways in which the same seed gives the same bits."),
    ] = False
    patience: Annotated[
        int | None,
        typer.Option("--patience", metavar="N", help="Stop after N passes without a better score on --dev."),
    ] = None
    trace: Annotated[str | None, typer.Option("--trace", metavar="FILE", help="Record of the run, JSON lines.")] = None
    save_state: Annotated[
        bool,
        typer.Option("--save-state", help="Keep in the model what --warm-start needs, such as the duals."),
    ] = False
    warm_start: Annotated[
        str | None,
        typer.Option("--warm-start", metavar="MODEL", help="Go on from a model with a saved state, on the same data."),
    ] = None
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint", metavar="DIR", help="Save the run in this folder from time to time, for --resume."
        ),
    ] = None
    checkpoint_interval: Annotated[
        float | None,
        typer.Option(
            "--checkpoint-interval", metavar="SECONDS", help="How often; 0 for after every pass. [default 60]"
        ),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint in --checkpoint DIR, if there is one.")
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False
    as_json: JsonOption = False
    #: Parameters of the learner and the engine, by name.
    specific: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def evaluation_files(self) -> dict[str, str]:
        """The files to score on, by the name of the set."""
        return {name: path for name, path in (("dev", self.dev), ("test", self.test)) if path is not None}

    @property
    def files_to_read(self) -> list[tuple[str, StrPath]]:
        """The files that every task reads, with the words that name them."""
        others = {"--dev": self.dev, "--test": self.test, "--warm-start": self.warm_start}
        return [*(("the training file", path) for path in self.training), *named_files(others)]


def training_command(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the common options, and those of learners and engines; it gets them as `options`."""
    return with_options(command, TrainingOptions, "specific")


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
class _Plan:
    """The common options, checked."""

    spec: RunSpec
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
    if options.quiet:
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("always", OutputWarning)
    plan = _checked(options)
    plan.outputs.check([*options.files_to_read, *reads])
    checkpoint = plan.outputs.checkpoint
    with nullcontext() if checkpoint is None else checkpoint.in_use():
        if checkpoint is not None:
            _prepare(checkpoint, options)
        start = time.perf_counter()
        state = _state_of(options.warm_start, model_type) if options.warm_start is not None else None
        data = read()
        _train(options, plan, data, state, time.perf_counter() - start)


def _train(
    options: TrainingOptions, plan: _Plan, data: TrainingData, state: State | None, reading_seconds: float
) -> None:
    checkpoint = plan.outputs.checkpoint
    with watch_ctrl_c() as interrupts:
        scored_always = {name: given for name, given in data.evaluation_sets.items() if name == "dev"}
        model, result = fit_model(data.problem, dataclasses.replace(plan.spec, warm_start=state), scored_always)
        interrupts.let_through()
        saved = plan.outputs.save(model, result.stopped == "interrupted")
        if checkpoint is not None and result.stopped != "interrupted" and not saved.failure:
            checkpoint.remove()
        if result.shortfall:
            note(f"marginloom: warning: {result.shortfall}", options.quiet)
        scores = model.scores(data.evaluation_sets, options.threads)
        try:
            if options.as_json:
                seconds = {"read": reading_seconds, **result.seconds}
                print(json.dumps(_summary(model, result, seconds, scores)), flush=True)
            elif not options.quiet:
                _report(result, {"model": saved.place, "trace": options.trace}, scores)
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


def _say_interrupted(options: TrainingOptions, saved: Saved, checkpoint: Checkpoint | None, result: Result) -> None:
    proof = "" if result.certificate else ", but not certified"
    kept = "" if saved.place == options.model or saved.failure else f"; {options.model} is left as it was"
    advice = ""
    if checkpoint is not None and checkpoint.exists():
        advice = f"; --resume goes on after pass {checkpoint.iteration}"
    note(f"interrupted after {result.iterations} passes; the model in {saved.place} is usable{proof}{kept}{advice}")


def _checked(options: TrainingOptions) -> _Plan:
    with usage_errors():
        chosen = _named_algorithm(options)
        for key in ("max_iter", "patience"):
            if getattr(options, key) is not None:
                checked(key, getattr(options, key), "positive count")
        checked("seed", options.seed, "seed")
        checkpoint = _checkpoint(options.checkpoint, options.checkpoint_interval, options.resume)
        outputs = Outputs(options.model, options.trace, checkpoint)
        outputs.check_distinct()
        spec = _spec(options, chosen, checkpoint)
        _take_common_options(spec, options, chosen)
    check_standard_input([path for _, path in options.files_to_read], options.resume)
    if options.patience is not None and options.dev is None:
        raise usage_error("--patience watches the score on --dev, which is not given")
    return _Plan(spec, outputs)


def _named_algorithm(options: TrainingOptions) -> Algorithm | None:
    """Return the algorithm, checked; None if it is to be chosen once the examples are known."""
    name = options.algorithm
    if name == AUTO:
        return None
    chosen = choose(name, options.specific, lambda key: note(_ignored(name, key), options.quiet), options.engine)
    threads = check_threads(chosen, options.threads)
    if options.reproducible:
        check_reproducible(chosen, threads)
    return chosen


def _spec(options: TrainingOptions, chosen: Algorithm | None, checkpoint: Checkpoint | None) -> RunSpec:
    common: dict[str, Any] = {}
    learner: Mapping[str, Any] | Learner
    engine: Mapping[str, Any] | Engine
    if chosen is not None:
        learner, engine = chosen.learner, chosen.engine
    else:
        learner, engine, common = by_owner(options.specific, options.engine)
    return RunSpec(
        algorithm=options.algorithm,
        learner=learner,
        engine=engine,
        max_iter=options.max_iter,
        n_threads=options.threads,
        random_state=options.seed,
        reproducible=options.reproducible,
        callbacks=_callbacks(options),
        keep_state=options.save_state,
        trace_path=options.trace,
        checkpoint=checkpoint,
        resume=options.resume,
        common=common,
    )


def _take_common_options(spec: RunSpec, options: TrainingOptions, chosen: Algorithm | None) -> None:
    """Check the common options and take them over, but for those that the algorithm does not use."""
    unused = [] if chosen is None else _unused(options, chosen)
    for name in unused:
        note(_ignored(options.algorithm, name), options.quiet)
    given = {name: getattr(options, name) for name in COMMON_OPTIONS if name not in unused}
    if given.get("C") is not None:
        spec.C = checked("C", options.C, "positive")
    if given.get("tol") is not None:
        spec.tol = checked("tol", options.tol, "positive")
    if given.get("loss") is not None:
        check_loss_name(options.loss)
        spec.loss = options.loss if chosen is None else check_loss(chosen.learner, options.loss)
    if given.get("memory") is not None:
        spec.memory = parse_size("memory", options.memory)


def _unused(options: TrainingOptions, algorithm: Algorithm) -> list[str]:
    """Return the common options that were given and that an algorithm does not use."""
    given = [name for name in COMMON_OPTIONS if getattr(options, name) is not None]
    return [name for name in given if name not in algorithm.learner.common]


def _prepare(checkpoint: Checkpoint, options: TrainingOptions) -> None:
    """Make sure, before the long work, that no unfinished run is lost, and say where this one starts."""
    checkpoint.prepare(options.resume)
    if options.resume:
        found = "going on from" if checkpoint.exists() else "starting from the beginning: there is no"
        note(f"{found} {checkpoint.path}", options.quiet)


def _callbacks(options: TrainingOptions) -> list[Callback]:
    callbacks: list[Callback] = [] if options.quiet else [_ChoiceNote(options), _MemoryNote(), ProgressBar()]
    if options.patience is not None:
        callbacks.append(EarlyStopping(options.patience))
    return callbacks


class _ChoiceNote(Callback):
    """Says before training which algorithm ``auto`` has chosen, and what it does not use."""

    def __init__(self, options: TrainingOptions) -> None:
        self._options = options

    def before_training(self, run: Run) -> None:
        if run.choice is None:
            return
        bits = "" if run.algorithm.engine.gives_same_bits(run.n_threads) else "; not the same bits every time"
        note(f"auto: {run.algorithm.name} ({run.choice.reason}{bits})")
        given = [name for name in self._options.specific if name in COMMON and not run.algorithm.uses(name)]
        for name in _unused(self._options, run.algorithm) + given:
            note(_ignored(run.algorithm.name, name))


class _MemoryNote(Callback):
    """Says before training what it will need."""

    def before_training(self, run: Run) -> None:
        note(run.memory.describe())


def _ignored(algorithm: str, parameter: str) -> str:
    return f"{algorithm} has no {parameter}: {option_name(parameter)} is ignored"


def _checkpoint(folder: str | None, interval: float | None, resume: bool) -> Checkpoint | None:
    if folder is None:
        if resume or interval is not None:
            raise InputError(f"{'--resume' if resume else '--checkpoint-interval'} needs --checkpoint DIR")
        return None
    return Checkpoint(folder, interval=60.0 if interval is None else interval)


def _state_of(path: str, model_type: type[Model]) -> State:
    state = model_type.load(path).state
    if state is None:
        raise InputError(f"{path}: this model has no saved state to start from; train it with --save-state")
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
        "scores": scores,
    }


def _report(result: Result, files: dict[str, str | None], scores: dict[str, Any]) -> None:
    passes = f"{result.iterations} pass{'' if result.iterations == 1 else 'es'}"
    print(f"{result.algorithm.name}: {passes} in {result.seconds['train']:.2f} s, stopped by {result.stopped}")
    if result.weights_iteration not in (None, result.iterations):
        print(f"the weights are those of pass {result.weights_iteration}")
    if result.certificate:
        print(result.certificate)
    elif result.primal is not None:
        print(f"primal {'' if result.exact else 'at most ' if result.bounded else 'about '}{result.primal:.6g}")
    for name, value in result.chosen.items():
        print(f"{name} {value:g}")
    if result.working_set_mb * MB > result.memory.working_sets:
        print(
            f"working sets took {result.working_set_mb:.1f} MB, more than the memory that they were given: "
            "dual variables and their outputs are always kept"
        )
    for name, values in scores.items():
        print("\n".join(score_lines(name, values, MOST_LABELS)))
    for name, path in files.items():
        if path is not None:
            print(f"{name:<6} {path}")
