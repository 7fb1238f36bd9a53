"""The options of `marginloom train` that every task has, as they were given on the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

import typer

from marginloom.clusters.dask import ANSWER_TIMEOUT
from marginloom.commands.caller import caller
from marginloom.commands.common import JsonOption, usage_check
from marginloom.commands.help import CLUSTERS, FEATURES, INPUT, OUTPUT, TRAINING
from marginloom.commands.learner_options import with_options
from marginloom.common.threads import resolve_threads
from marginloom.io.files import StrPath
from marginloom.io.overwriting import named_files
from marginloom.training.spec import RunParameters, training_threads

MinCountOption = Annotated[
    int,
    typer.Option(
        "--min-count",
        metavar="N",
        help="Ignore features that occur fewer than N times in training.",
        rich_help_panel=FEATURES,
    ),
]
GazetteerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--gazetteer",
        metavar="NAME=FILE",
        help="Word list, such as city names, with one entry per line. May be repeated.",
        rich_help_panel=FEATURES,
    ),
]
ClustersOption = Annotated[
    str | None,
    typer.Option(
        "--clusters",
        metavar="FILE",
        help="File of Brown clusters (bit string, word, count).",
        rich_help_panel=FEATURES,
    ),
]
HashBitsOption = Annotated[
    int | None,
    typer.Option(
        "--hash-bits",
        metavar="N",
        min=1,
        max=31,
        help="Hash features into 2^N buckets instead of storing their names.",
        rich_help_panel=FEATURES,
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """The options that every task has, as they were given on the command line."""

    training: Annotated[
        list[str],
        typer.Argument(metavar="TRAIN", help="Training files (also .gz or .xz); - means standard input."),
    ]
    model: Annotated[
        str, typer.Option("--model", "-o", metavar="OUT", help="Model file to write.", rich_help_panel=OUTPUT)
    ]
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Development file; scores are computed after every pass.",
            rich_help_panel=INPUT,
        ),
    ] = None
    test: Annotated[
        str | None,
        typer.Option(
            "--test", metavar="FILE", help="Test file; scores are computed at the end.", rich_help_panel=INPUT
        ),
    ] = None
    calibrate: Annotated[
        float | None,
        typer.Option(
            "--calibrate",
            metavar="SHARE",
            help="Share of the training examples, such as 0.1, to hold out for calibrating probabilities; 0 means no "
            "calibration. [default: calibrate on the --dev file]",
            show_default=False,
            rich_help_panel=TRAINING,
        ),
    ] = None
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            metavar="NAME",
            help="Training algorithm; auto chooses one. 'marginloom algorithms' lists all.",
            rich_help_panel=TRAINING,
        ),
    ] = RunParameters.algorithm
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="How threads share the work; 'marginloom algorithms NAME' lists the engines of an algorithm. "
            "[default: depends on the algorithm]",
            hidden=True,
            rich_help_panel=TRAINING,
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="NAME",
            help="Loss function: hinge or squared_hinge. [default: depends on the algorithm, usually squared_hinge]",
            rich_help_panel=TRAINING,
        ),
    ] = None
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            metavar="C",
            help="Inverse regularization strength: larger values fit the training data more closely. [default: 0.1]",
            rich_help_panel=TRAINING,
        ),
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(
            "--tol",
            metavar="GAP",
            help="Stop when the objective is proven to be within this fraction of its optimum. [default: 0.01]",
            rich_help_panel=TRAINING,
        ),
    ] = None
    max_iter: Annotated[
        int | None,
        typer.Option(
            "--max-iter",
            metavar="N",
            help="Maximum number of passes (epochs). [default: depends on the algorithm, usually 100]",
            rich_help_panel=TRAINING,
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            callback=usage_check(resolve_threads),
            help="Number of threads; -1 means all cores. [default: all cores, or fewer for small problems; 1 if you "
            "choose an --algorithm other than auto]",
            rich_help_panel=TRAINING,
        ),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Memory limit for the working set (wrong outputs that training stores and reuses), such as 500M. "
            "[default: half of the free memory]",
            rich_help_panel=TRAINING,
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.", rich_help_panel=TRAINING)] = 0
    reproducible: Annotated[
        bool,
        typer.Option(
            "--reproducible",
            help="Give the same model in every run.",
            rich_help_panel=TRAINING,
        ),
    ] = False
    patience: Annotated[
        int | None,
        typer.Option(
            "--patience",
            metavar="N",
            help="Stop after N passes without a better score on --dev.",
            rich_help_panel=TRAINING,
        ),
    ] = None
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write a record of every pass to this file, as JSON lines.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    save_state: Annotated[
        bool,
        typer.Option(
            "--save-state",
            help="Also store in the model what a later --warm-start needs.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    warm_start: Annotated[
        str | None,
        typer.Option(
            "--warm-start",
            metavar="MODEL",
            help="Start from this model. It must have been trained on the same data, with --save-state.",
            rich_help_panel=TRAINING,
        ),
    ] = None
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="Folder for checkpoints, from which --resume continues.",
            rich_help_panel=TRAINING,
        ),
    ] = None
    checkpoint_interval: Annotated[
        float | None,
        typer.Option(
            "--checkpoint-interval",
            metavar="SECONDS",
            help="Time between checkpoints; 0 means to save after every pass. [default: 60]",
            hidden=True,
            rich_help_panel=TRAINING,
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue from the checkpoint in --checkpoint, if any.",
            rich_help_panel=TRAINING,
        ),
    ] = False
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="mpi|dask",
            help="Train in many processes: those started by mpiexec, or Dask workers.",
            hidden=True,
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Scheduler of a Dask cluster, such as tcp://10.0.0.1:8786.",
            hidden=True,
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Start N Dask workers on this machine, for this run.",
            hidden=True,
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    answer_timeout: Annotated[
        float | None,
        typer.Option(
            "--answer-timeout",
            metavar="SECONDS",
            help="How long to wait for a Dask worker before its work is also sent to another one. "
            f"[default: {ANSWER_TIMEOUT:g}]",
            hidden=True,
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    tls_ca: Annotated[
        str | None,
        typer.Option(
            "--tls-ca",
            metavar="FILE",
            help="File with the certificate authority, for a scheduler at tls://...",
            hidden=True,
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    tls_cert: Annotated[
        str | None,
        typer.Option(
            "--tls-cert",
            metavar="FILE",
            help="File with the TLS certificate of this process.",
            hidden=True,
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    tls_key: Annotated[
        str | None,
        typer.Option(
            "--tls-key", metavar="FILE", help="File with the key of --tls-cert.", hidden=True, rich_help_panel=CLUSTERS
        ),
    ] = None
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            help="Print only errors, and warnings about options and files.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    as_json: JsonOption = False
    #: Parameters of the learner and the engine, by name.
    specific: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def training_threads(self) -> int | None:
        """The threads for training and what goes with it."""
        return training_threads(self.algorithm, self.threads)

    @property
    def evaluation_files(self) -> dict[str, str]:
        """The files to score on, by the name of the set; none where another process scores."""
        if caller().serves or caller().task_only:
            return {}
        return {name: path for name, path in (("dev", self.dev), ("test", self.test)) if path is not None}

    @property
    def files_to_read(self) -> list[tuple[str, StrPath]]:
        """The files that every task reads, with the words that name them."""
        others = {"--dev": self.dev, "--test": self.test, "--warm-start": self.warm_start}
        tls = {"--tls-ca": self.tls_ca, "--tls-cert": self.tls_cert, "--tls-key": self.tls_key}
        return [*(("the training file", path) for path in self.training), *named_files(others | tls)]


def training_command(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the common options, and those of learners and engines; it gets them as `options`."""
    return with_options(command, TrainingOptions, "specific")
