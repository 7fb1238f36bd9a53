"""What the command line knows of taggers."""

from __future__ import annotations

import dataclasses
import warnings
from functools import partial
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from marginloom.commands.common import (
    FormatOption,
    column_option,
    format_option,
    gazetteer_files,
    numbers_of_labels,
    pos_column_option,
    refuse,
    usage_error,
    usage_errors,
)
from marginloom.commands.help import FEATURES, INPUT, STRUCTURE, TRAINING
from marginloom.commands.task_commands import EvaluateOptions, ExplainRequest, KBestOptions, TaskCommands, streams
from marginloom.commands.training import TrainingData, run_training
from marginloom.commands.training_options import (
    ClustersOption,
    GazetteerOption,
    HashBitsOption,
    MinCountOption,
    TrainingOptions,
    training_command,
)
from marginloom.common.memory import require_memory
from marginloom.common.parameters import checked
from marginloom.core.prefixes import UPDATES
from marginloom.errors import InputError, InputWarning
from marginloom.features import ExtractedFeatures, check_feature_set
from marginloom.features.sets import FEATURE_SETS
from marginloom.io.columns import checked_column
from marginloom.io.confidence import WITHHELD, confidence_text, numbered_cells, withheld
from marginloom.io.conll import ColumnCorpus
from marginloom.io.corpus import Corpus, read_corpus, stream_corpora
from marginloom.io.formats import CONLL, CRFSUITE, FORMATS, LABELLED, LIBSVM, READY_FORMATS, TEXT, format_of
from marginloom.io.names import shown
from marginloom.io.plain_text import stream_text
from marginloom.labels.label_set import UNSEEN
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.base.explanation import Explanation, Wanted
from marginloom.tasks.sequence.explanations import ExplainedSentence, explain, words_of
from marginloom.tasks.sequence.features import LabelledSentences, new_features
from marginloom.tasks.sequence.gold import INVALID_GOLD
from marginloom.tasks.sequence.label_columns import (
    label_column_of,
    label_name,
    refuse_labels_as_features,
    same_column,
)
from marginloom.tasks.sequence.model import SequenceEvaluator, SequenceModel, SequenceProblem
from marginloom.tasks.sequence.schemes import SCHEMES
from marginloom.tasks.sequence.searches import checked_search
from marginloom.tasks.sequence.spans import check_scheme

#: What to do with columns, and so of no use where a file holds ready features.
COLUMN_OPTIONS = ("features", "column", "pos_column", "gazetteer", "clusters", "hash_bits")


BeamOption = Annotated[
    int | None,
    typer.Option(
        "--beam",
        metavar="N",
        help="Use beam search, which keeps the N best partial label sequences and scores each label together with "
        "the previous two. [default: exact search]",
        rich_help_panel=STRUCTURE,
    ),
]

OtherBeamOption = Annotated[
    int | None,
    typer.Option(
        "--beam",
        metavar="N",
        help="Number of partial label sequences to keep, in models trained with --beam. [default: as in training]",
    ),
]


@training_command
def train(
    *,
    context: typer.Context,
    options: TrainingOptions,
    column: Annotated[str | None, column_option("the last one; in CoNLL-U, UPOS")] = None,
    features: Annotated[
        str,
        typer.Option(
            "--features",
            metavar="SET",
            help="Feature set: words, tagging, rich, chunking, ner, ner-observed, ner-rich, or a file of templates "
            "(CRF++ templates if it ends in .crfpp).",
            rich_help_panel=FEATURES,
        ),
    ] = "rich",
    pos_column: Annotated[
        str | None,
        pos_column_option(", for the feature sets chunking and ner, and for templates with pos[...]."),
    ] = None,
    gazetteer: GazetteerOption = None,
    clusters: ClustersOption = None,
    hash_bits: HashBitsOption = None,
    min_count: MinCountOption = 1,
    start_end: Annotated[
        bool,
        typer.Option(
            "--start-end", help="Also learn which labels begin and end a sentence.", rich_help_panel=STRUCTURE
        ),
    ] = False,
    label_cost: Annotated[
        list[str] | None,
        typer.Option(
            "--label-cost",
            metavar="LABEL=X",
            help="Cost of an error where the gold label is LABEL. May be repeated. [default: 1 for every label]",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    constraints: Annotated[
        str,
        typer.Option(
            "--constraints",
            metavar="SCHEME",
            help="Predict only label sequences that are valid in a span scheme (bio, bioes or bilou).",
            rich_help_panel=STRUCTURE,
        ),
    ] = "none",
    invalid_gold: Annotated[
        str,
        typer.Option(
            "--invalid-gold",
            metavar="WHAT",
            help="What to do if gold labels violate --constraints: error, repair or skip (omit the sentence).",
            rich_help_panel=INPUT,
        ),
    ] = "error",
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            "--forbid",
            metavar="'A B'",
            help="Never predict label B after label A; <s> and </s> mean the start and end of a sentence. May be "
            "repeated.",
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    order: Annotated[
        int,
        typer.Option(
            "--order",
            metavar="N",
            help="1 scores each label together with the previous label; 2, with the previous two.",
            rich_help_panel=STRUCTURE,
        ),
    ] = 1,
    beam: BeamOption = None,
    update: Annotated[
        str,
        typer.Option(
            "--update",
            metavar="RULE",
            help="For --beam: which labels of a sentence update the weights: those up to the largest violation "
            "(max-violation), those up to the word at which the gold labels leave the beam (early), or all (standard).",
            hidden=True,
            rich_help_panel=TRAINING,
        ),
    ] = UPDATES[0],
    format: FormatOption = None,
) -> None:
    """Train a sequence tagger: part-of-speech tags, entities or chunks.

    File formats: CoNLL columns, CoNLL-U, CoNLL-U Plus, CRFsuite and LIBSVM.
    """
    with usage_errors():
        checked("min_count", min_count, "positive count")
        costs = numbers_of_labels("--label-cost", label_cost or [], "a finite cost")
        gazetteers = gazetteer_files(gazetteer or [])
        formats = {format_of(path, format) for path in options.training}
        ready = bool(formats.intersection(READY_FORMATS))
        if ready:
            refuse(context, COLUMN_OPTIONS, "crfsuite and LIBSVM files hold ready features with the label first")
        else:
            check_feature_set(features)
        checked_search(order, beam, update)
        if LIBSVM in formats:
            refuse(context, ["min_count"], "features of LIBSVM files have numbers and are not counted")
    if constraints != "none" and constraints not in SCHEMES:
        raise usage_error(f"--constraints must be none, {', '.join(SCHEMES)}, not {constraints!r}")
    if invalid_gold not in INVALID_GOLD:
        raise usage_error(f"--invalid-gold must be one of {', '.join(INVALID_GOLD)}, not {invalid_gold!r}")
    if forbid and (constraints != "none" or any(len(pair.split()) != 2 for pair in forbid)):
        raise usage_error("--forbid takes two labels, as in --forbid 'O I-PER', and no --constraints beside it")

    def read() -> TrainingData:
        corpus = read_corpus(options.training, format)
        label_column = corpus.label_column(checked_column("--column", column))
        parts = {name: read_corpus([path], format, corpus.format) for name, path in options.evaluation_files.items()}
        feature_set = new_features(
            None if ready else features,
            corpus,
            min_count=min_count,
            hash_bits=hash_bits,
            pos_column=checked_column("--pos-column", pos_column),
            clusters=clusters,
            gazetteers=gazetteers,
            n_threads=options.training_threads,
        )
        refuse_labels_as_features(feature_set, corpus, label_column)
        training = LabelledSentences.from_corpus(corpus, label_column)
        problem = SequenceProblem(
            training=training,
            features=feature_set,
            start_end=start_end,
            label_costs=costs,
            constraints=[(pair.split()[0], pair.split()[1]) for pair in forbid] if forbid else constraints,
            invalid_gold=invalid_gold,
            order=order,
            beam=beam,
            update=update,
            settings={"format": corpus.format, "label_column": label_column + 1, **label_name(corpus, label_column)},
        )
        strings = isinstance(NumberedLabels.of(training.labels).names[0], str)
        sets = {
            name: LabelledSentences.from_corpus(part, part.label_column(same_column(corpus, label_column)), strings)
            for name, part in parts.items()
        }
        return TrainingData(problem, sets)

    run_training(options, SequenceModel, read, _files_of_features(None if ready else features, clusters, gazetteers))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequencePredictOptions(KBestOptions):
    """Options of `marginloom predict` for sentences."""

    format: Annotated[
        str | None,
        format_option(
            dataclasses.replace(LABELLED, names=(TEXT, *LABELLED.names)),
            "File format: text (plain text, one sentence per line), conll, conllu, conlluplus, crfsuite or libsvm. "
            "[default: from the file name]",
        ),
    ] = None
    beam: OtherBeamOption = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceEvaluateOptions(EvaluateOptions):
    """Options of `marginloom evaluate` for sentences."""

    column: Annotated[str | None, column_option("as in training")] = None
    format: FormatOption = None
    beam: OtherBeamOption = None
    strict: Annotated[
        str | None,
        typer.Option(
            "--strict",
            metavar="SCHEME",
            help="Count only spans that are well formed in this span scheme: bio, bioes, bilou or ioe.",
            rich_help_panel=INPUT,
        ),
    ] = None


class SequenceCommands(TaskCommands[SequenceModel, SequencePredictOptions, SequenceEvaluateOptions]):
    """Predict, evaluate and inspect for taggers."""

    train = staticmethod(train)
    plural = "taggers"
    train_examples = (
        "marginloom train tag train.conllu --dev dev.conllu --model pos.safetensors",
        "marginloom train tag ner.conll --features ner --constraints bio -o ner.safetensors",
    )
    model_type = SequenceModel
    predict_options = SequencePredictOptions
    evaluate_options = SequenceEvaluateOptions
    predict_help = (
        "Taggers: CoNLL files get one more column with the labels, or K more with --k-best K. In CoNLL-U files, the "
        "labels replace the column that the model was trained on. Plain text (--format text, one sentence per line) is "
        "written as CoNLL-U; if the model was not trained on CoNLL-U, the labels go into the column XPOS. For CRFsuite "
        "and LIBSVM files, only the labels are written, one per line. --confidence adds a column (CoNLL), an entry in "
        "MISC (CoNLL-U) or a comment (CRFsuite, LIBSVM)."
    )

    def predict(self, model: SequenceModel, options: SequencePredictOptions) -> None:
        """Write the sentences with their labels, in the format they come in."""
        chosen = _file_format(model, options.model, options.input, options.format)
        k = options.k_best
        if k > 1 and chosen != CONLL:
            raise usage_error(
                f"--k-best writes a column for each labelling, and the format {chosen} has no room for them"
            )
        if k > 1:
            model.check_k_best()
        if options.with_confidence:
            model.check_confidence(options.beam)
        with streams(options) as (stream, out, advance):
            read = stream_text if chosen == TEXT else partial(stream_corpora, format=chosen)
            for place, corpus in enumerate(read(stream, name=options.input)):
                if place == 0 and options.format is None:
                    _warn_of_text(model, corpus)
                out.write(_with_predictions(model, corpus, options))
                out.flush()
                advance(corpus.byte_count)

    def read_labelled(self, model: SequenceModel, options: SequenceEvaluateOptions) -> LabelledSentences:
        """Read sentences with their right labels, by default in the column that the model was trained on."""
        chosen = _file_format(model, options.model, options.input, options.format)
        if chosen in READY_FORMATS and options.column is not None:
            raise usage_error(f"in the format {chosen} the labels are the first field: --column cannot be given")
        corpus = read_corpus([options.input], chosen)
        asked = checked_column("--column", options.column)
        column = corpus.label_column(label_column_of(model, corpus) if asked is None else asked)
        return LabelledSentences.from_corpus(corpus, column, model.labels.strings)

    def explain(self, model: SequenceModel, options: SequenceEvaluateOptions, request: ExplainRequest) -> Explanation:
        """Explain the labels of a sentence."""
        chosen = _file_format(model, options.model, options.input, options.format)
        corpus = read_corpus([options.input], chosen)
        bounds = corpus.sentences.astype(np.int64).tolist()
        start, end = bounds[request.example : request.example + 2] if request.example < len(bounds) - 1 else (0, 0)
        words = words_of(corpus)
        sentence = ExplainedSentence(model, corpus, request.example, None if words is None else words[start:end])
        gold = self.read_labelled(model, options).labels if request.gold else None
        if gold is not None:
            gold = NumberedLabels.of(gold).values().tolist()[start:end]
        training = None
        if request.training:
            texts = read_corpus(request.training, None if chosen == TEXT else chosen)
            column = texts.label_column(label_column_of(model, texts))
            training = LabelledSentences.from_corpus(texts, column, model.labels.strings)
        return explain(model, sentence, Wanted(request.token, request.instead, gold), training)

    def evaluator(self, model: SequenceModel, options: SequenceEvaluateOptions) -> SequenceEvaluator:
        """Return what scores the model on sentences, strictly by a scheme of spans if that is asked for."""
        with usage_errors():
            check_scheme(options.strict, "--strict")
        return model.evaluator(self.read_labelled(model, options), options.threads, options.strict, options.beam)

    def describe(self, model: SequenceModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on features and labels."""
        return [
            ("features", f"{model.features.name} ({model.feature_count:,})"),
            *([("columns", ", ".join(model.columns))] if model.columns else []),
            ("labels", f"{len(model.labels.names)}: {model.labels.summary()}"),
            *([] if model.histories is None else [("histories", f"{len(model.histories):,} with a weight")]),
            *([] if model.order == 1 else [("search", _search_of(model))]),
        ]

    def legend(self, model: SequenceModel) -> str:
        """Explain the names of features and of labels that follow each other."""
        if not isinstance(model.features, ExtractedFeatures):
            return "Features have the names of the data. after X: the previous label is X."
        if model.features.hash_bits is not None:
            return "Hashed features have no names and are not shown; train without --hash-bits to see them."
        return (
            "word[-1]=the: the previous word is 'the'; [0] is the word itself, [1] the next one. suffix[0,3]=ous: its "
            "last 3 letters are 'ous'. after X: the previous label is X. <s> and </s> stand before and after a "
            "sentence. docs/features.md lists all."
        )

    def is_hashed(self, model: SequenceModel) -> bool:
        """Tell whether features are hashed."""
        return getattr(model.features, "hash_bits", None) is not None


def _search_of(model: SequenceModel) -> str:
    return "exact, two labels back" if model.beam is None else f"beam of {model.beam} states, two labels back"


def _warn_of_text(tagger: SequenceModel, corpus: Corpus) -> None:
    """Warn if what is taken for columns looks like text: a sentence a line, and more columns than training had."""
    if not isinstance(corpus, ColumnCorpus) or corpus.format != CONLL:
        return
    (table,) = corpus.tables
    trained = tagger.settings.get("label_column")
    usual = trained if isinstance(trained, int) else 2
    if table.tokens == corpus.sentences.size - 1 > 0 and table.columns > max(2, usual):
        warnings.warn(
            InputWarning(
                f"{table.name}: every sentence is one token with {table.columns} columns; if this is plain text, use "
                "--format text"
            ),
            stacklevel=2,
        )


def _with_predictions(tagger: SequenceModel, corpus: Corpus, options: SequencePredictOptions) -> bytes:
    """Return the text of sentences with their labels, and with confidence if it is asked for."""
    k, names, column = options.k_best, tagger.labels.vocabulary, label_column_of(tagger, corpus)
    if not options.with_confidence:
        return corpus.with_labels(names, _labels(tagger, corpus, k, options.threads, options.beam), column, k)
    if k == 1:
        numbers, confidence = tagger.predict_with_confidence(corpus, options.threads)
        shown, kept = withheld(names, numbers, confidence, options.min_confidence)
        return corpus.with_confidence(shown, kept, column, confidence)
    assert isinstance(corpus, ColumnCorpus)
    return _with_k_best(tagger, corpus, options)


def _with_k_best(tagger: SequenceModel, corpus: ColumnCorpus, options: SequencePredictOptions) -> bytes:
    """Return the text of sentences with a column for each labelling, then one for the probability of each."""
    found = tagger.predict_k_best(corpus, options.k_best, options.threads)
    probabilities = tagger.k_best_probabilities(corpus, found, options.threads)
    names = tagger.labels.vocabulary
    labels: list[list[str]] = [[] for _ in range(options.k_best)]
    shares: list[list[str]] = [[] for _ in range(options.k_best)]
    lengths = np.diff(corpus.sentences.astype(np.int64)).tolist()
    for length, labellings, own in zip(lengths, found, probabilities, strict=True):
        for rank in range(options.k_best):
            there = rank < len(labellings)
            low = there and options.withholds(own[rank])
            numbers = labellings[rank][0].tolist() if there else []
            labels[rank] += [WITHHELD if low else names.name(number) for number in numbers] or [WITHHELD] * length
            shares[rank] += [confidence_text(own[rank] if there else None)] * length
    (table,) = corpus.tables
    return table.with_columns([(0, *numbered_cells(cells)) for cells in (*labels, *shares)])


def _labels(tagger: SequenceModel, corpus: Corpus, k: int, threads: int | None, beam: int | None) -> NDArray[np.uint16]:
    """Return the numbers of the k best labels of every token, `UNSEEN` where a sentence has fewer labellings."""
    if k == 1:
        return tagger.predict(corpus, threads, beam)[1]
    tokens = int(corpus.sentences[-1])
    require_memory(
        f"writing {k:,} labellings of {tokens:,} tokens",
        {"labels": tokens * k * UNSEEN.itemsize},
        "ask for fewer (--k-best)",
    )
    columns = np.full((tokens, k), UNSEEN)
    for start, labellings in zip(
        corpus.sentences[:-1].tolist(), tagger.predict_k_best(corpus, k, threads), strict=True
    ):
        for rank, (numbers, _) in enumerate(labellings):
            columns[start : start + numbers.size, rank] = numbers
    return columns.reshape(-1)


def _file_format(tagger: SequenceModel, model: str, input: str, format: str | None) -> str:
    """Return an input's format, which must be one that the model can read."""
    trained = tagger.file_format
    if format == TEXT:
        if tagger.features.kind == "extracted":
            return TEXT
        raise InputError(
            f"{model}: this model reads ready features, and --format text gives words; give ready features"
        )
    if trained is None:  # from Python: the features are the same, wherever training got them from
        trained = {"named": CRFSUITE, "paths": CRFSUITE, "matrix": LIBSVM}.get(tagger.features.kind, CONLL)
        if trained == CONLL or format_of(input, format) == trained:
            return format_of(input, format, trained)
    column = tagger.settings.get("label_column")
    if trained not in FORMATS or not isinstance(column, int) or column < 1:
        raise InputError(
            f"{shown(model)}: this model was trained from Python on features, not on columns of a file; use it from "
            f"Python with SequenceTagger.load, or with a file of such features and --format {trained}"
        )
    return format_of(input, format, trained)


def _files_of_features(features: str | None, clusters: str | None, gazetteers: dict[str, str]) -> list[tuple[str, str]]:
    """Return the files that features are read from, with the options that name them."""
    files = [("--gazetteer", path) for path in gazetteers.values()]
    if clusters is not None:
        files.append(("--clusters", clusters))
    if features is not None and features not in FEATURE_SETS:
        files.append(("--features", features))
    return files


COMMANDS = SequenceCommands()
