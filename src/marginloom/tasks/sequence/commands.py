"""What the command line knows of taggers."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from marginloom.cli.common import ColumnOption, FormatOption, numbers_of_labels, refuse, usage_error, usage_errors
from marginloom.cli.training import MinCountOption, TrainingData, TrainingOptions, run_training, training_command
from marginloom.errors import InputError
from marginloom.features import check_feature_set
from marginloom.features.sets import FEATURE_SETS
from marginloom.io.conll import default_label_column
from marginloom.io.corpus import Corpus, read_corpus, stream_corpora
from marginloom.io.formats import CRFSUITE, FORMATS, format_of
from marginloom.labels.label_set import UNSEEN
from marginloom.parameters import checked
from marginloom.tasks.base.commands import EvaluateOptions, KBestOptions, TaskCommands, streams
from marginloom.tasks.sequence.features import LabelledSentences, new_features
from marginloom.tasks.sequence.model import SequenceEvaluator, SequenceModel, SequenceProblem
from marginloom.tasks.sequence.spans import check_scheme

#: What to do with columns, and so of no use where a file holds ready features.
COLUMN_OPTIONS = ("features", "column", "pos_column", "gazetteer", "clusters", "hash_bits")


@training_command
def train(
    *,
    context: typer.Context,
    options: TrainingOptions,
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
    min_count: MinCountOption = 1,
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
) -> None:
    """Train a sequence tagger on CoNLL columns, CoNLL-U, or ready features in crfsuite's format."""
    with usage_errors():
        checked("min_count", min_count, "positive count")
        costs = numbers_of_labels("--label-cost", label_cost or [], "a finite cost")
        gazetteers = _gazetteers(gazetteer or [])
        ready = any(format_of(path, format) == CRFSUITE for path in options.training)
        if ready:
            refuse(context, COLUMN_OPTIONS, "crfsuite files hold ready features with the label first")
        else:
            check_feature_set(features)
    if constraints not in ("none", "bio", "bioes"):
        raise usage_error(f"--constraints must be none, bio or bioes, not {constraints!r}")
    if forbid and (constraints != "none" or any(len(pair.split()) != 2 for pair in forbid)):
        raise usage_error("--forbid takes two labels, as in --forbid 'O I-PER', and no --constraints beside it")

    def read() -> TrainingData:
        corpus = read_corpus(options.training, format)
        label_column = corpus.label_column(column)
        parts = {name: read_corpus([path], format, corpus.format) for name, path in options.evaluation_files.items()}
        problem = SequenceProblem(
            training=LabelledSentences.from_corpus(corpus, label_column),
            features=new_features(
                None if ready else features,
                corpus,
                min_count=min_count,
                hash_bits=hash_bits,
                pos_column=pos_column,
                clusters=clusters,
                gazetteers=gazetteers,
                n_threads=options.threads,
            ),
            start_end=start_end,
            label_costs=costs,
            constraints=[(pair.split()[0], pair.split()[1]) for pair in forbid] if forbid else constraints,
            settings={"format": corpus.format, "label_column": label_column + 1},
        )
        sets = {
            name: LabelledSentences.from_corpus(part, part.label_column(label_column + 1))
            for name, part in parts.items()
        }
        return TrainingData(problem, sets)

    run_training(options, SequenceModel, read, _files_of_features(None if ready else features, clusters, gazetteers))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequencePredictOptions(KBestOptions):
    """Options of `marginloom predict` for sentences."""

    format: FormatOption = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceEvaluateOptions(EvaluateOptions):
    """Options of `marginloom evaluate` for sentences."""

    column: ColumnOption = None
    format: FormatOption = None
    strict: Annotated[
        str | None,
        typer.Option(
            "--strict",
            metavar="SCHEME",
            help="Count only spans that are well formed in a scheme: bio, bioes, bilou or ioe.",
        ),
    ] = None


class SequenceCommands(TaskCommands[SequenceModel, SequencePredictOptions, SequenceEvaluateOptions]):
    """Predict, evaluate and inspect for taggers."""

    train = staticmethod(train)
    model_type = SequenceModel
    predict_options = SequencePredictOptions
    evaluate_options = SequenceEvaluateOptions
    predict_help = (
        "Sentences: columns get one more with the predicted labels, or one for each of the K best labellings; CoNLL-U "
        "gets the labels in the column that the model was trained on. For ready features in crfsuite's format they "
        "come alone, one a line, as CRFsuite writes them."
    )

    def predict(self, model: SequenceModel, options: SequencePredictOptions) -> None:
        """Write the sentences with their labels, in the format they come in."""
        chosen, column = _file_settings(model, options.model, options.input, options.format)
        k = options.k_best
        if k > 1 and chosen != "conll":
            raise usage_error(
                f"--k-best writes a column for each labelling, and the format {chosen} has no room for them"
            )
        with streams(options) as (stream, out, advance):
            for corpus in stream_corpora(stream, chosen, options.input):
                numbers = _labels(model, corpus, k, options.threads)
                out.write(corpus.with_labels(model.labels.vocabulary, numbers, (column or 1) - 1, k))
                out.flush()
                advance(corpus.byte_count)

    def read_labelled(self, model: SequenceModel, options: SequenceEvaluateOptions) -> LabelledSentences:
        """Read sentences with their right labels, by default in the column that the model was trained on."""
        chosen, trained_column = _file_settings(model, options.model, options.input, options.format)
        if chosen == CRFSUITE and options.column is not None:
            raise usage_error("in crfsuite's format the labels are the first field: --column cannot be given")
        corpus = read_corpus([options.input], chosen)
        column = corpus.label_column(trained_column if options.column is None else options.column)
        return LabelledSentences.from_corpus(corpus, column)

    def evaluator(self, model: SequenceModel, options: SequenceEvaluateOptions) -> SequenceEvaluator:
        """Return what scores the model on sentences, strictly by a scheme of spans if that is asked for."""
        with usage_errors():
            check_scheme(options.strict, "--strict")
        return model.evaluator(self.read_labelled(model, options), options.threads, options.strict)

    def describe(self, model: SequenceModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on features and labels."""
        return [
            ("features", f"{model.features.name} ({model.feature_count})"),
            ("labels", f"{len(model.labels.names)}: {model.labels.summary()}"),
        ]


def _labels(tagger: SequenceModel, corpus: Corpus, k: int, threads: int) -> NDArray[np.uint16]:
    """Return the numbers of the k best labels of every token, `UNSEEN` where a sentence has fewer labellings."""
    if k == 1:
        return tagger.predict(corpus, threads)[1]
    columns = np.full((int(corpus.sentences[-1]), k), UNSEEN)
    for start, labellings in zip(
        corpus.sentences[:-1].tolist(), tagger.predict_k_best(corpus, k, threads), strict=True
    ):
        for rank, (numbers, _) in enumerate(labellings):
            columns[start : start + numbers.size, rank] = numbers
    return columns.reshape(-1)


def _file_settings(tagger: SequenceModel, model: str, input: str, format: str | None) -> tuple[str, int | None]:
    """Return an input's format, and its label's column from 1 (None: the last)."""
    trained, column = tagger.settings.get("format"), tagger.settings.get("label_column")
    if trained is None and tagger.features.name == "named" and format_of(input, format) == CRFSUITE:
        return CRFSUITE, 1  # the features are the same, wherever training got them from
    if trained not in FORMATS or not isinstance(column, int) or column < 1:
        raise InputError(
            f"{model}: this model was trained from Python on features, not on columns of a file; use it from Python "
            "with SequenceTagger.load, or with a file of such features and --format crfsuite"
        )
    chosen = format_of(input, format, trained)
    if chosen == trained:
        return chosen, column
    if tagger.features.reads_columns:
        raise InputError(
            f"{input}: the format is {chosen}, and the model's features read columns of the format {trained}; give a "
            "file of that format (and say so with --format)"
        )
    return chosen, default_label_column(chosen)


def _files_of_features(features: str | None, clusters: str | None, gazetteers: dict[str, str]) -> list[tuple[str, str]]:
    """Return the files that features are read from, with the options that name them."""
    files = [("--gazetteer", path) for path in gazetteers.values()]
    if clusters is not None:
        files.append(("--clusters", clusters))
    if features is not None and features not in FEATURE_SETS:
        files.append(("--features", features))
    return files


def _gazetteers(given: list[str]) -> dict[str, str]:
    files = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not (name and equals and path) or name in files:
            raise InputError(f"--gazetteer must look like NAME=FILE, every name once, not {item!r}")
        files[name] = path
    return files


COMMANDS = SequenceCommands()
