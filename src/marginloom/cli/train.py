"""The command `marginloom train`."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Annotated, Any

import typer

from marginloom.algorithms import Algorithm, find_algorithm
from marginloom.callbacks import Callback, EarlyStopping, ProgressBar
from marginloom.cli.common import (
    ColumnOption,
    FormatOption,
    JsonOption,
    ThreadsOption,
    note,
    peak_memory_mb,
    score_lines,
    usage_error,
)
from marginloom.engines import Serial
from marginloom.errors import InputError
from marginloom.features import make_feature_set
from marginloom.io.conll import read_corpus
from marginloom.io.files import check_writable_target
from marginloom.learners import DCD, Perceptron
from marginloom.memory import MB, parse_size
from marginloom.parameters import Configured, checked
from marginloom.state import State
from marginloom.tagging import Labelled, Tagger, train_tagger
from marginloom.training import Result, Run, check_loss

train = typer.Typer(help="Train a model.", no_args_is_help=True)


def _help(owner: type[Configured], name: str) -> str:
    """Take an option's help from the parameter that it sets."""
    declared = next(parameter for parameter in owner.parameters() if parameter.name == name)
    return f"{declared.help[0].upper()}{declared.help[1:]}. [{owner.name}, default {declared.default}]"


AlgorithmOption = Annotated[str, typer.Option("--algorithm", metavar="NAME", help="See 'marginloom algorithms'.")]
LossOption = Annotated[str | None, typer.Option("--loss", metavar="LOSS", help="hinge or squared_hinge.")]
CostOption = Annotated[float | None, typer.Option("--C", metavar="C", help="Cost of slack per example. [default 0.1]")]
TolOption = Annotated[
    float | None,
    typer.Option("--tol", metavar="GAP", help="Certified relative gap to stop at. [default 0.01]"),
]
MaxIterOption = Annotated[
    int | None,
    typer.Option("--max-iter", metavar="N", help="Passes at most. [default 100; online learners 10]"),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="For the candidates that a learner with a dual keeps, such as 500M or 2G; changes the time and not the "
        "result. [default: half of what is free]",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same bits.")]
DeltaOption = Annotated[float | None, typer.Option("--delta", metavar="X", help=_help(DCD, "delta"))]
InnerPassesOption = Annotated[int | None, typer.Option("--inner-passes", metavar="N", help=_help(DCD, "inner_passes"))]
AveragedOption = Annotated[bool | None, typer.Option("--averaged/--no-averaged", help=_help(Perceptron, "averaged"))]
ShuffleOption = Annotated[bool | None, typer.Option("--shuffle/--no-shuffle", help=_help(Serial, "shuffle"))]


@train.callback()
def _train() -> None:
    """Train a model."""


@train.command(no_args_is_help=True)
def tag(
    training: Annotated[list[str], typer.Argument(metavar="TRAIN", help="Training files; plain, .gz or .xz.")],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="Where to write the model.")],
    dev: Annotated[str | None, typer.Option("--dev", metavar="F", help="Scored after every pass.")] = None,
    test: Annotated[str | None, typer.Option("--test", metavar="F", help="Scored at the end.")] = None,
    algorithm: AlgorithmOption = "dcd-ssvm",
    loss: LossOption = None,
    C: CostOption = None,
    tol: TolOption = None,
    max_iter: MaxIterOption = None,
    threads: ThreadsOption = 1,
    memory: MemoryOption = None,
    seed: SeedOption = 0,
    column: ColumnOption = None,
    features: Annotated[
        str, typer.Option("--features", metavar="SET", help="Feature set: words (the word, nothing else).")
    ] = "words",
    min_count: Annotated[
        int, typer.Option("--min-count", metavar="N", help="Leave out features seen less often in training.")
    ] = 1,
    start_end: Annotated[
        bool, typer.Option("--start-end", help="Give the first and the last label weights of their own.")
    ] = False,
    label_cost: Annotated[
        list[str] | None,
        typer.Option(
            "--label-cost",
            metavar="LABEL=X",
            help="What a wrong label costs where LABEL is right; may be repeated.",
        ),
    ] = None,
    format: FormatOption = None,
    patience: Annotated[
        int | None,
        typer.Option("--patience", metavar="N", help="Stop after N passes without a better score on --dev."),
    ] = None,
    trace: Annotated[str | None, typer.Option("--trace", metavar="FILE", help="Record of the run, JSON lines.")] = None,
    save_state: Annotated[
        bool,
        typer.Option("--save-state", help="Keep in the model what --warm-start needs, such as the duals."),
    ] = False,
    warm_start: Annotated[
        str | None,
        typer.Option("--warm-start", metavar="MODEL", help="Go on from a model with a saved state, on the same data."),
    ] = None,
    delta: DeltaOption = None,
    inner_passes: InnerPassesOption = None,
    averaged: AveragedOption = None,
    shuffle: ShuffleOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a sequence tagger on CoNLL columns or CoNLL-U."""
    specific = {"delta": delta, "inner_passes": inner_passes, "averaged": averaged, "shuffle": shuffle}
    try:
        chosen = _choose(algorithm, specific)
        common = _common_options(chosen, {"C": C, "tol": tol, "loss": loss, "memory": memory}, quiet)
        for name, value in (("max_iter", max_iter), ("min_count", min_count), ("patience", patience)):
            if value is not None:
                checked(name, value, "positive count")
        checked("seed", seed, "seed")
        costs = _label_costs(label_cost or [])
        feature_set = make_feature_set(features, min_count)
    except InputError as error:
        raise usage_error(str(error)) from error
    if patience is not None and dev is None:
        raise usage_error("--patience watches the score on --dev, which is not given")
    check_writable_target(model)
    if trace is not None:
        check_writable_target(trace)
    start = time.perf_counter()
    state = _state_of(warm_start) if warm_start is not None else None
    corpus = read_corpus(training, format)
    label_column = corpus.label_column(column)
    parts = {name: read_corpus([path], format) for name, path in (("dev", dev), ("test", test)) if path is not None}
    labelled = {name: Labelled.from_corpus(part, part.label_column(label_column + 1)) for name, part in parts.items()}
    labelled["train"] = Labelled.from_corpus(corpus, label_column)
    seconds = {"read": time.perf_counter() - start}
    callbacks: list[Callback] = [] if quiet else [_MemoryNote(), ProgressBar()]
    if patience is not None:
        callbacks.append(EarlyStopping(patience))
    tagger, result = train_tagger(
        labelled["train"],
        feature_set,
        start_end=start_end,
        label_costs=costs,
        evaluation_sets={"dev": labelled["dev"]} if "dev" in labelled else {},
        settings={"format": corpus.format, "label_column": label_column + 1},
        algorithm=algorithm,
        max_iter=max_iter,
        n_threads=threads,
        random_state=seed,
        learner=chosen.learner,
        engine=chosen.engine,
        callbacks=callbacks,
        warm_start=state,
        keep_state=save_state,
        trace_path=trace,
        **common,
    )
    tagger.save(model)
    scores = tagger.scores({name: labelled[name] for name in parts}, threads)
    if as_json:
        print(json.dumps(_summary(tagger, result, {**seconds, **result.seconds}, scores)), flush=True)
    elif not quiet:
        _report(result, {"model": model, "trace": trace}, scores)
    if result.stopped == "interrupted":
        note(f"interrupted after {result.iterations} passes; the model in {model} is usable, but not certified")
        raise typer.Exit(130)


class _MemoryNote(Callback):
    """Says before training what it will need."""

    def before_training(self, run: Run) -> None:
        note(run.memory.describe())


def _choose(name: str, specific: dict[str, Any]) -> Algorithm:
    """Find the algorithm with its own options set; refuse options of others."""
    preset = find_algorithm(name)
    given = {key: value for key, value in specific.items() if value is not None}
    learner_has = {parameter.name for parameter in preset.learner.parameters()}
    engine_has = {parameter.name for parameter in preset.engine.parameters()}
    for key in given:
        if key not in learner_has | engine_has:
            own = ", ".join(f"--{known.replace('_', '-')}" for known in sorted(learner_has | engine_has))
            raise InputError(f"--{key.replace('_', '-')} is not an option of {name}, which has {own}")
    return find_algorithm(
        name,
        {key: value for key, value in given.items() if key in learner_has},
        {key: value for key, value in given.items() if key in engine_has},
    )


def _common_options(chosen: Algorithm, given: dict[str, Any], quiet: bool) -> dict[str, Any]:
    """Check the common options that the algorithm uses, and say which ones it does not."""
    used: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name not in chosen.learner.common:
            note(f"{chosen.name} has no {name}: --{name} is ignored", quiet)
            continue
        if name == "loss":
            check_loss(chosen.learner, value)
        elif name == "memory":
            parse_size(name, value)
        else:
            checked(name, value, "positive")
        used[name] = value
    return used


def _label_costs(given: list[str]) -> dict[str, float]:
    costs = {}
    for item in given:
        label, _, cost = item.rpartition("=")
        try:
            costs[label] = checked("the cost", float(cost), "not negative")
        except ValueError as error:
            raise InputError(f"--label-cost must look like LABEL=2.5, a finite cost, not {item!r}") from error
        if not label:
            raise InputError(f"--label-cost must name a label, as in LABEL=2.5, not {item!r}")
    return costs


def _state_of(path: str) -> State:
    state = Tagger.load(path).state
    if state is None:
        raise InputError(f"{path}: this model has no saved state to start from; train it with --save-state")
    return state


def _summary(tagger: Tagger, result: Result, seconds: dict[str, float], scores: dict[str, Any]) -> dict[str, Any]:
    names = ("primal", "dual", "gap")
    certificate = dataclasses.asdict(result.certificate) if result.certificate else dict.fromkeys(names)
    return {
        "algorithm": result.algorithm.name,
        "learner": result.algorithm.learner.name,
        "engine": result.algorithm.engine.name,
        "loss": result.loss,
        "iterations": result.iterations,
        "threads": result.n_threads,
        "stopped": result.stopped,
        "seconds": {name: seconds[name] for name in ("read", "features", "train", "certify")},
        **{name: certificate[name] for name in names},
        "weights": int(tagger.weights.size),
        "nonzero": int((tagger.weights != 0).sum()),
        "active": result.active,
        "inferences": result.inferences,
        "updates": result.updates,
        "peak_memory_mb": peak_memory_mb(),
        "scores": scores,
    }


def _report(result: Result, files: dict[str, str | None], scores: dict[str, Any]) -> None:
    passes = f"{result.iterations} pass{'' if result.iterations == 1 else 'es'}"
    print(f"{result.algorithm.name}: {passes} in {result.seconds['train']:.2f} s, stopped by {result.stopped}")
    if result.certificate:
        proof = "certified" if result.certificate.exact else "not certified (inference is inexact)"
        print(
            f"primal {result.certificate.primal:.6g}, dual {result.certificate.dual:.6g}: "
            f"relative gap {100 * result.certificate.gap:.3g} %, {proof}"
        )
    if result.working_set_mb * MB > result.memory.working_sets:
        print(
            f"working sets took {result.working_set_mb:.1f} MB, more than the memory that they were given: "
            "dual variables and their outputs are always kept"
        )
    for name, values in scores.items():
        print("\n".join(score_lines(name, values)))
    for name, path in files.items():
        if path is not None:
            print(f"{name:<6} {path}")
