"""The command `marginloom train`."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from marginloom.algorithms import Algorithm
from marginloom.callbacks import Callback, EarlyStopping, ProgressBar
from marginloom.checkpoint import Checkpoint
from marginloom.checks import check_loss, check_threads
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
from marginloom.cli.parameters import choose, option_name, with_parameters
from marginloom.errors import InputError
from marginloom.features import ExtractedFeatures, FeatureSet, Lists, NamedFeatures, check_feature_set
from marginloom.interrupts import watch_ctrl_c
from marginloom.io.corpus import read_corpus
from marginloom.io.files import check_writable_target
from marginloom.io.formats import CRFSUITE, format_of
from marginloom.memory import MB, parse_size
from marginloom.parameters import checked
from marginloom.state import State
from marginloom.tagging import Labelled, Tagger, train_tagger
from marginloom.threads import resolve_threads
from marginloom.training import Result, Run

train = typer.Typer(help="Train a model.", no_args_is_help=True)


AlgorithmOption = Annotated[str, typer.Option("--algorithm", metavar="NAME", help="See 'marginloom algorithms'.")]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Another engine than the algorithm's own; 'marginloom algorithms NAME' shows which ones it can have.",
    ),
]
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
CheckpointOption = Annotated[
    str | None,
    typer.Option("--checkpoint", metavar="DIR", help="Save the run in this folder from time to time, for --resume."),
]
CheckpointIntervalOption = Annotated[
    float | None,
    typer.Option("--checkpoint-interval", metavar="SECONDS", help="How often; 0 for after every pass. [default 60]"),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on from the checkpoint in --checkpoint DIR, if there is one.")
]


#: What to do with columns, and so of no use where a file holds ready features.
COLUMN_OPTIONS = ("features", "column", "pos_column", "gazetteer", "clusters", "hash_bits")


@train.callback()
def _train() -> None:
    """Train a model."""


@train.command(no_args_is_help=True)
@with_parameters
def tag(
    *,
    context: typer.Context,
    training: Annotated[list[str], typer.Argument(metavar="TRAIN", help="Training files; plain, .gz or .xz.")],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="Where to write the model.")],
    dev: Annotated[str | None, typer.Option("--dev", metavar="F", help="Scored after every pass.")] = None,
    test: Annotated[str | None, typer.Option("--test", metavar="F", help="Scored at the end.")] = None,
    algorithm: AlgorithmOption = "dcd-ssvm",
    engine: EngineOption = None,
    loss: LossOption = None,
    C: CostOption = None,
    tol: TolOption = None,
    max_iter: MaxIterOption = None,
    threads: ThreadsOption = 1,
    memory: MemoryOption = None,
    seed: SeedOption = 0,
    column: ColumnOption = None,
    features: Annotated[
        str,
        typer.Option("--features", metavar="SET", help="words, tagging, chunking, ner, or a file of templates."),
    ] = "tagging",
    pos_column: Annotated[
        int | None,
        typer.Option(
            "--pos-column", metavar="N", min=1, help="Column of the parts of speech, for features that use it."
        ),
    ] = None,
    gazetteer: Annotated[
        list[str] | None,
        typer.Option("--gazetteer", metavar="NAME=FILE", help="A list of names, an entry a line; may be repeated."),
    ] = None,
    clusters: Annotated[
        str | None, typer.Option("--clusters", metavar="FILE", help="Brown clusters: path, word and count a line.")
    ] = None,
    hash_bits: Annotated[
        int | None,
        typer.Option("--hash-bits", metavar="N", min=1, max=31, help="Hash features instead of keeping a vocabulary."),
    ] = None,
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
    constraints: Annotated[
        str, typer.Option("--constraints", metavar="SCHEME", help="Keep labels well formed: none, bio or bioes.")
    ] = "none",
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            "--forbid",
            metavar="'A B'",
            help="Label B never follows A; <s> and </s> are a sentence's start and end; may be repeated.",
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
    checkpoint: CheckpointOption = None,
    checkpoint_interval: CheckpointIntervalOption = None,
    resume: ResumeOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: JsonOption = False,
    specific: dict[str, Any],
) -> None:
    """Train a sequence tagger on CoNLL columns, CoNLL-U, or ready features in crfsuite's format."""
    try:
        chosen = choose(algorithm, specific, lambda name: note(_ignored(algorithm, name), quiet), engine)
        check_threads(chosen, threads)
        common = _common_options(chosen, {"C": C, "tol": tol, "loss": loss, "memory": memory}, quiet)
        for name, value in (("max_iter", max_iter), ("min_count", min_count), ("patience", patience)):
            if value is not None:
                checked(name, value, "positive count")
        checked("seed", seed, "seed")
        costs = _label_costs(label_cost or [])
        gazetteers = _gazetteers(gazetteer or [])
        ready = any(format_of(path, format) == CRFSUITE for path in training)
        if ready:
            _refuse(context, COLUMN_OPTIONS, "crfsuite files hold ready features with the label first")
        else:
            check_feature_set(features)
        saved = _checkpoint(checkpoint, checkpoint_interval, resume, model)
    except InputError as error:
        raise usage_error(str(error)) from error
    if constraints not in ("none", "bio", "bioes"):
        raise usage_error(f"--constraints must be none, bio or bioes, not {constraints!r}")
    if forbid and (constraints != "none" or any(len(pair.split()) != 2 for pair in forbid)):
        raise usage_error("--forbid takes two labels, as in --forbid 'O I-PER', and no --constraints beside it")
    if patience is not None and dev is None:
        raise usage_error("--patience watches the score on --dev, which is not given")
    feature_set: FeatureSet = NamedFeatures(min_count)
    if not ready:
        feature_set = ExtractedFeatures(
            features,
            min_count=min_count,
            hash_bits=hash_bits,
            pos_column=pos_column,
            lists=Lists.read(clusters, gazetteers),
            n_threads=resolve_threads(threads),
        )
    _check_outputs([model, trace], [*training, dev, test, warm_start])
    check_writable_target(model)
    if trace is not None:
        check_writable_target(trace)
    if saved is not None:
        saved.prepare(resume)
        if resume:
            found = "going on from" if saved.exists() else "starting from the beginning: there is no"
            note(f"{found} {saved.path}", quiet)
    start = time.perf_counter()
    state = _state_of(warm_start) if warm_start is not None else None
    corpus = read_corpus(training, format)
    label_column = corpus.label_column(column)
    given = {name: path for name, path in (("dev", dev), ("test", test)) if path is not None}
    parts = {name: read_corpus([path], format, corpus.format) for name, path in given.items()}
    labelled = {name: Labelled.from_corpus(part, part.label_column(label_column + 1)) for name, part in parts.items()}
    labelled["train"] = Labelled.from_corpus(corpus, label_column)
    seconds = {"read": time.perf_counter() - start}
    callbacks: list[Callback] = [] if quiet else [_MemoryNote(), ProgressBar()]
    if patience is not None:
        callbacks.append(EarlyStopping(patience))
    interrupts = context.with_resource(watch_ctrl_c())
    tagger, result = train_tagger(
        labelled["train"],
        feature_set,
        start_end=start_end,
        label_costs=costs,
        constraints=[(pair.split()[0], pair.split()[1]) for pair in forbid] if forbid else constraints,
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
        checkpoint=saved,
        resume=resume,
        **common,
    )
    tagger.save(model)
    if saved is not None and result.stopped != "interrupted":
        saved.remove()
    scores = tagger.scores({name: labelled[name] for name in parts}, threads)
    if as_json:
        print(json.dumps(_summary(tagger, result, {**seconds, **result.seconds}, scores)), flush=True)
    elif not quiet:
        _report(result, {"model": model, "trace": trace}, scores)
    if interrupts.answer() or result.stopped == "interrupted":
        proof = "" if result.certificate else ", but not certified"
        advice = "; --resume goes on from the last whole pass" if saved is not None and saved.exists() else ""
        note(f"interrupted after {result.iterations} passes; the model in {model} is usable{proof}{advice}")
        raise typer.Exit(130)


def _check_outputs(outputs: list[str | None], inputs: list[str | None]) -> None:
    """Refuse to write over a file that is to be read."""
    for output in filter(None, outputs):
        for source in filter(None, inputs[:-1] if output == outputs[0] else inputs):
            if Path(output).exists() and Path(source).exists() and Path(output).samefile(source):
                raise InputError(f"{output} is one of the files to read, and would be overwritten; choose another name")


def _refuse(context: typer.Context, options: tuple[str, ...], reason: str) -> None:
    """Refuse options that were given on the command line."""
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise InputError(f"--{name.replace('_', '-')} cannot be given: {reason}")


class _MemoryNote(Callback):
    """Says before training what it will need."""

    def before_training(self, run: Run) -> None:
        note(run.memory.describe())


def _ignored(algorithm: str, parameter: str) -> str:
    return f"{algorithm} has no {parameter}: {option_name(parameter)} is ignored"


def _common_options(chosen: Algorithm, given: dict[str, Any], quiet: bool) -> dict[str, Any]:
    """Check the common options that the algorithm uses, and say which ones it does not."""
    used: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name not in chosen.learner.common:
            note(_ignored(chosen.name, name), quiet)
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


def _gazetteers(given: list[str]) -> dict[str, str]:
    files = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not (name and equals and path) or name in files:
            raise InputError(f"--gazetteer must look like NAME=FILE, every name once, not {item!r}")
        files[name] = path
    return files


def _checkpoint(folder: str | None, interval: float | None, resume: bool, model: str) -> Checkpoint | None:
    if folder is None:
        if resume or interval is not None:
            raise InputError(f"{'--resume' if resume else '--checkpoint-interval'} needs --checkpoint DIR")
        return None
    checkpoint = Checkpoint(folder, interval=60.0 if interval is None else interval)
    if checkpoint.path.resolve() == Path(model).resolve():
        raise InputError(f"--model {model} is where --checkpoint {folder} writes; choose another name")
    return checkpoint


def _state_of(path: str) -> State:
    state = Tagger.load(path).state
    if state is None:
        raise InputError(f"{path}: this model has no saved state to start from; train it with --save-state")
    return state


def _summary(tagger: Tagger, result: Result, seconds: dict[str, float], scores: dict[str, Any]) -> dict[str, Any]:
    names = ("dual", "gap")
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
        "primal": result.primal,
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
    elif result.primal is not None:
        print(f"primal {result.primal:.6g}")
    for name, value in result.chosen.items():
        print(f"{name} {value:g}")
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
