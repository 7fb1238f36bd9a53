"""What the command line knows of dependency parsers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from marginloom.commands.common import format_option, gazetteer_files, pos_column_option, usage_error, usage_errors
from marginloom.commands.help import FEATURES, INPUT, STRUCTURE
from marginloom.commands.report import step_sentence
from marginloom.commands.task_commands import EvaluateOptions, ExplainRequest, KBestOptions, TaskCommands, streams
from marginloom.commands.training import TrainingData, run_training
from marginloom.commands.training_options import (
    ClustersOption,
    GazetteerOption,
    MinCountOption,
    TrainingOptions,
    training_command,
)
from marginloom.common.memory import parse_size
from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.errors import InputError
from marginloom.features import Lists
from marginloom.io.columns import checked_column
from marginloom.io.conll import ColumnCorpus, read_corpus, stream_corpora, stream_sentences
from marginloom.io.formats import CONLLU_PLUS, CONLLX, TEXT, TREEBANKS, format_of
from marginloom.io.overwriting import refuse_overwriting
from marginloom.io.plain_text import stream_text
from marginloom.tasks.base.explanation import Explanation, Wanted
from marginloom.tasks.base.model import Evaluator
from marginloom.tasks.parse.explanations import ExplainedTree, explain
from marginloom.tasks.parse.feature_sets import FEATURE_SETS
from marginloom.tasks.parse.features import AUTO, ArcFeatureSet
from marginloom.tasks.parse.gold import INVALID_GOLD, check_trees
from marginloom.tasks.parse.model import ROOTS, ParseModel, ParseProblem
from marginloom.tasks.parse.tagged import tagged_corpus
from marginloom.tasks.parse.transition import checked_method, settled_search
from marginloom.tasks.parse.tree_labels import LABEL_COST, LABEL_STAGES, LABEL_TREES, check_label_options
from marginloom.tasks.parse.treebank import Treebank, check_numbering
from marginloom.tasks.sequence.model import SequenceModel

_BLANK_LINE = re.compile(rb"\n[ \t]*\r?\n\Z")
TreebankFormat = Annotated[
    str | None, format_option(TREEBANKS, "File format: conllu, conlluplus or conllx. [default: from the file name]")
]


@training_command
def train(
    *,
    options: TrainingOptions,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="graph: find the best tree from the scores of all arcs; transition: build a tree from left to right "
            "by beam search, which is faster for long sentences, but not exact.",
            rich_help_panel=STRUCTURE,
        ),
    ] = "graph",
    beam: Annotated[
        int | None,
        typer.Option(
            "--beam",
            metavar="N",
            help="For --method transition: number of partial trees to keep after each step. [default: 8]",
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    update: Annotated[
        str | None,
        typer.Option(
            "--update",
            metavar="RULE",
            help="For --method transition: which actions of a sentence update the weights: those up to the largest "
            "violation (max-violation), those up to the step at which the gold tree leaves the beam (early), or all "
            "(standard). "
            "[default: max-violation]",
            hidden=True,
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    merging: Annotated[
        bool,
        typer.Option(
            "--merging/--no-merging",
            help="For --method transition: merge states with equal features.",
            hidden=True,
            rich_help_panel=STRUCTURE,
        ),
    ] = True,
    order: Annotated[
        int | None,
        typer.Option(
            "--order",
            metavar="N",
            min=1,
            max=2,
            help="1 scores each arc alone; 2 also scores pairs of adjacent arcs from the same head. [default: 1]",
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    projective: Annotated[
        bool,
        typer.Option(
            "--projective/--non-projective",
            help="Predict only projective trees (without crossing arcs), or any trees.",
            rich_help_panel=STRUCTURE,
        ),
    ] = True,
    labelled: Annotated[
        bool, typer.Option("--labelled", help="Also predict relation labels.", rich_help_panel=STRUCTURE)
    ] = False,
    label_stage: Annotated[
        str,
        typer.Option(
            "--label-stage",
            metavar="NAME",
            help="Find labels in a second step when the tree is known (tree), or with the arcs (arc).",
            rich_help_panel=STRUCTURE,
        ),
    ] = LABEL_STAGES[0],
    label_cost: Annotated[
        float | None,
        typer.Option(
            "--label-C",
            metavar="X",
            help=f"C of the second step, with --label-stage tree. [default: {LABEL_COST:g}]",
            hidden=True,
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    label_trees: Annotated[
        str,
        typer.Option(
            "--label-trees",
            metavar="NAME",
            help="Trees that the second step learns from: gold; or jackknife, those of parsers that were trained "
            "without them, which takes longer.",
            hidden=True,
            rich_help_panel=STRUCTURE,
        ),
    ] = LABEL_TREES[0],
    roots: Annotated[
        str,
        typer.Option(
            "--roots",
            metavar="one|many",
            help="Allow one root per sentence, or many.",
            rich_help_panel=STRUCTURE,
        ),
    ] = "one",
    features: Annotated[
        str,
        typer.Option(
            "--features",
            metavar="SET",
            help="Feature set: arcs-rich (the default), arcs; with --method transition states-full (the default), "
            "states-rich, states; or a file of templates.",
            show_default=False,
            rich_help_panel=FEATURES,
        ),
    ] = AUTO,
    pos_column: Annotated[str | None, pos_column_option(". [default: upos]")] = None,
    xpos: Annotated[
        bool | None,
        typer.Option(
            "--xpos/--no-xpos",
            help="Use the column XPOS. [default: if it is not constant]",
            rich_help_panel=FEATURES,
        ),
    ] = None,
    feats: Annotated[
        bool | None,
        typer.Option(
            "--feats/--no-feats",
            help="Use the column FEATS. [default: if it is not constant]",
            rich_help_panel=FEATURES,
        ),
    ] = None,
    gazetteer: GazetteerOption = None,
    clusters: ClustersOption = None,
    hash_bits: Annotated[
        int | None,
        typer.Option(
            "--hash-bits",
            metavar="N",
            min=0,
            max=31,
            help="Hash features into 2^N buckets; 0 stores their names instead. [default: between 14 and 24, depending "
            "on the size of the data; with --min-count, 0]",
            rich_help_panel=FEATURES,
        ),
    ] = None,
    min_count: MinCountOption = 1,
    invalid_gold: Annotated[
        str,
        typer.Option(
            "--invalid-gold",
            metavar="WHAT",
            help="What to do if gold arcs cross (without --non-projective): error, repair or skip (omit the sentence).",
            rich_help_panel=INPUT,
        ),
    ] = "repair",
    feature_cache: Annotated[
        str | None,
        typer.Option(
            "--feature-cache",
            metavar="SIZE",
            help="Memory for storing the features of arcs, such as 1G. Without it, they are computed in every pass.",
            hidden=True,
            rich_help_panel=FEATURES,
        ),
    ] = None,
    format: TreebankFormat = None,
) -> None:
    """Train a dependency parser.

    File formats: CoNLL-U, CoNLL-U Plus and CoNLL-X.
    """
    with usage_errors():
        checked("min_count", min_count, "positive count")
        cache = None if feature_cache is None else parse_size("feature_cache", feature_cache)
        gazetteers = gazetteer_files(gazetteer or [])
    for option, value, words in (("--roots", roots, ROOTS), ("--invalid-gold", invalid_gold, INVALID_GOLD)):
        if value not in words:
            raise usage_error(f"{option} must be one of {', '.join(words)}, not {value!r}")
    graphs_only = {
        "--order": order is not None,
        "--non-projective": not projective,
        f"--roots {roots}": roots != "one",
        "--feature-cache": cache is not None,
    }
    with usage_errors():
        chosen = checked_method(method)
        search = settled_search(chosen, beam=beam, merging=merging, update=update, **graphs_only)
        in_tree = check_label_options(labelled, label_stage, label_cost, label_trees)

    def read() -> TrainingData:
        corpus = read_corpus(options.training, format, known=TREEBANKS)
        new_features = partial(
            ArcFeatureSet,
            features,
            order=order or 1,
            hash_bits=AUTO if hash_bits is None else hash_bits or None,
            min_count=min_count,
            pos_column=checked_column("--pos-column", pos_column),
            xpos=xpos,
            feats=feats,
            lists=Lists.read(clusters, gazetteers),
            n_threads=resolve_threads(options.training_threads),
        )
        parts = {
            name: read_corpus([path], format, corpus.format, TREEBANKS)
            for name, path in options.evaluation_files.items()
        }
        problem = ParseProblem(
            training=Treebank.from_corpus(corpus, labelled),
            features=new_features(method=chosen, labelled=labelled and not in_tree),
            label_features=new_features(method="labels") if in_tree else None,
            label_cost=label_cost,
            label_trees=label_trees,
            projective=projective,
            roots=roots,
            invalid_gold=invalid_gold,
            feature_cache=cache,
            search=search,
            settings={"format": corpus.format},
        )
        return TrainingData(problem, {name: _trees_to_score_on(part, labelled) for name, part in parts.items()})

    reads = [("--gazetteer", path) for path in gazetteers.values()]
    reads += [("--clusters", clusters)] if clusters is not None else []
    reads += [("--features", features)] if features not in (AUTO, *FEATURE_SETS) else []
    run_training(options, ParseModel, read, reads)


def _trees_to_score_on(corpus: ColumnCorpus, labelled: bool) -> Treebank:
    """Take trees from a file; what is wrong with them is told before the long work."""
    bank = Treebank.from_corpus(corpus, labelled)
    check_trees(bank)
    return bank


BeamOption = Annotated[
    int | None,
    typer.Option(
        "--beam",
        metavar="N",
        help="Number of partial trees to keep after each step, in models trained with --method "
        "transition. [default: as in training]",
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParsePredictOptions(KBestOptions):
    """Options of `marginloom predict` for trees."""

    beam: BeamOption = None
    tagger: Annotated[
        str | None,
        typer.Option(
            "--tagger",
            metavar="MODEL",
            help="Find the parts of speech with this tagger instead of taking those of the input, such as plain text.",
            rich_help_panel=INPUT,
        ),
    ] = None

    def check_outputs(self) -> None:
        """Raise `InputError` if an output is something else of the run."""
        super().check_outputs()
        if self.tagger is not None:
            refuse_overwriting(self.outputs(), [("the tagger", self.tagger)])

    format: Annotated[
        str | None,
        format_option(
            dataclasses.replace(TREEBANKS, names=(TEXT, *TREEBANKS.names)),
            "File format: text (plain text, one sentence per line, for parsers that read only words), conllu, "
            "conlluplus or conllx. [default: from the file name]",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParseEvaluateOptions(EvaluateOptions):
    """Options of `marginloom evaluate` for trees."""

    beam: BeamOption = None
    format: TreebankFormat = None


class ParseCommands(TaskCommands[ParseModel, ParsePredictOptions, ParseEvaluateOptions]):
    """Predict, evaluate and inspect for parsers."""

    train = staticmethod(train)
    plural = "parsers"
    train_examples = (
        "marginloom train parse train.conllu --labelled --model parser.safetensors",
        "marginloom train parse train.conllu --order 2 -o second.safetensors",
        "marginloom train parse train.conllu --method transition -o beam.safetensors",
    )
    model_type = ParseModel
    predict_options = ParsePredictOptions
    evaluate_options = ParseEvaluateOptions
    predict_help = (
        "Parsers: CoNLL-U, CoNLL-U Plus and CoNLL-X files get heads and relation labels in the columns HEAD and "
        "DEPREL, and _ in DEPS, PHEAD and PDEPREL; everything else is copied. Parsers trained without --labelled write "
        "the labels root and dep as placeholders. With --k-best K, each sentence is written once per tree, with rank "
        "and score in comments, and with the probability of the tree if the parser is calibrated. --confidence writes "
        "the probability of each arc into MISC. With --tagger MODEL, a tagger finds the parts of speech, also of "
        "plain text."
    )

    def predict(self, model: ParseModel, options: ParsePredictOptions) -> None:
        """Write the sentences with their trees, in the format they come in."""
        with usage_errors():
            model = model.with_beam(options.beam)
            if options.k_best > 1 and model.options.search is not None:
                raise InputError("--k-best does not go with a parser of --method transition, which finds one tree")
        chosen = options.format
        if chosen != TEXT:
            chosen = format_of(options.input, chosen, model.file_format, TREEBANKS)
        if options.k_best > 1 and chosen == CONLLX:
            raise usage_error("--k-best says in comments which trees are which, and CoNLL-X has no comments")
        if options.k_best > 1 and chosen == TEXT:
            raise usage_error("--k-best is for sentences in columns; give CoNLL-U")
        if options.with_confidence:
            _check_confidence(model, chosen)
        tagger = None if options.tagger is None else SequenceModel.load(options.tagger)

        def prepared(corpus: ColumnCorpus) -> ColumnCorpus:
            check_numbering(corpus)
            return corpus if tagger is None else tagged_corpus(tagger, corpus, options.threads)

        with streams(options) as (stream, out, advance):
            if options.k_best > 1:
                for number, given in enumerate(stream_sentences(stream, chosen, options.input)):
                    corpus = prepared(given)
                    out.writelines(_k_best(model, corpus, options, with_header=number == 0 and chosen == CONLLU_PLUS))
                    out.flush()
                    advance(corpus.byte_count)
                return
            read = stream_text if chosen == TEXT else partial(stream_corpora, format=chosen)
            for given in read(stream, name=options.input):
                corpus = prepared(given)
                names = None if model.labels is None else model.labels.vocabulary
                confidence = None
                if options.with_confidence:
                    trees, confidence = model.predict_with_confidence(corpus, options.threads)
                else:
                    _, trees = model.predict(corpus, options.threads)
                least = options.min_confidence
                out.write(corpus.with_trees(trees.heads, names, trees.labels, confidence, least))
                out.flush()
                advance(corpus.byte_count)

    def evaluator(self, model: ParseModel, options: ParseEvaluateOptions) -> Evaluator:
        """Return what scores the parser on the input, with the beam that was asked for."""
        with usage_errors():
            model = model.with_beam(options.beam)
        return super().evaluator(model, options)

    def explain(self, model: ParseModel, options: ParseEvaluateOptions, request: ExplainRequest) -> Explanation:
        """Explain the tree of a sentence."""
        trained = model.file_format
        corpus = read_corpus([options.input], options.format, trained, TREEBANKS)
        check_numbering(corpus)
        bounds = corpus.sentences.astype(np.int64).tolist()
        start, end = bounds[request.example : request.example + 2] if request.example < len(bounds) - 1 else (0, 0)
        sentence = ExplainedTree(model, corpus, request.example, _words(corpus)[start:end])
        gold = None
        if request.gold:
            bank = self.read_labelled(model, options)
            labels = [None] * len(bank.heads) if bank.labels is None else bank.labels.values().tolist()
            gold = list(zip(bank.heads.tolist(), labels, strict=True))[start:end]
        training = None
        if request.training:
            texts = read_corpus(request.training, options.format, trained, TREEBANKS)
            training = Treebank.from_corpus(texts, model.labels is not None), _words(texts)
        return explain(model, sentence, Wanted(request.token, request.instead, gold), training)

    def read_labelled(self, model: ParseModel, options: ParseEvaluateOptions) -> Treebank:
        """Read sentences with their right trees."""
        corpus = read_corpus([options.input], options.format, model.file_format, TREEBANKS)
        return _trees_to_score_on(corpus, model.labels is not None)

    def describe(self, model: ParseModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on trees, features and labels."""
        kind = "projective" if model.options.projective else "non-projective"
        counts = ", ".join(f"{count:,} {name}" for name, count in model.features.counts.items() if count)
        search = model.options.search
        way = f"order {model.options.order}"
        if search is not None:
            way = f"method transition, beam {search.beam}, update {search.update}"
            way += "" if search.merging else ", without merging"
        lines = [
            ("trees", f"{kind}, {way}, {'one root' if model.options.roots == 'one' else 'many roots'}"),
            ("features", f"{model.features.name} ({counts})"),
            ("columns", ", ".join(model.features.columns.read)),
        ]
        labels = model.labels
        if labels is None:
            return lines
        lines.append(("labels", f"{len(labels.names)}: {labels.summary()}"))
        lines += [("label step", step_sentence(step)) for step in model.steps().values()]
        return lines

    def legend(self, model: ParseModel) -> str:
        """Explain the names of features and the groups that stand among the labels."""
        if self.is_hashed(model):
            return "Hashed features have no names and are not shown; train with --hash-bits 0 to see them."
        if model.options.search is not None:
            return (
                "shift, left, right: weights of actions, in a state with that feature: left makes s1, the second word "
                "on the stack, a dependent of s0, the first one; right the other way round. q0 is the next word, s0.l "
                "the leftmost dependent of s0. docs/parsing.md lists all."
            )
        second = " siblings: weights of neighboring dependents of a head." if model.options.order == 2 else ""
        return (
            f"arc: weights of arcs, whatever their labels.{second} [h] is the head and [m] its dependent: pos[h]=VERB, "
            "the head is a VERB; pos[m+1]=NOUN, the word after the dependent is a NOUN. direction=left: the dependent "
            "precedes the head. docs/parsing.md lists all."
        )

    def is_hashed(self, model: ParseModel) -> bool:
        """Tell whether features are hashed, as they are by default."""
        return model.features.hash_bits is not None


def _words(corpus: ColumnCorpus) -> list[str]:
    return [table.cell(t, corpus.word_column) for table in corpus.tables for t in range(table.tokens)]


def _check_confidence(model: ParseModel, chosen: str) -> None:
    """Raise `InputError` if this parser has no probabilities, or the format no place for them."""
    if chosen == CONLLX:
        raise usage_error("--confidence is written into the column MISC, and CoNLL-X has none; give CoNLL-U")
    model.check_confidence()


def _k_best(
    model: ParseModel, corpus: ColumnCorpus, options: ParsePredictOptions, with_header: bool
) -> Iterator[bytes]:
    """Yield the text of one sentence with each of its best trees; a header stays the first line, and is there once."""
    found: Any = model.predict_k_best(corpus, options.k_best, options.threads)
    names = None if model.labels is None else model.labels.vocabulary
    if not found.trees:
        yield corpus.with_trees(np.zeros(0, np.uint16))
    count = len(found.trees)
    probabilities = [None] * count if found.probabilities is None else found.probabilities.tolist()
    for rank, (tree, score) in enumerate(zip(found.trees, found.scores.tolist(), strict=True), 1):
        confidence = model.confidence_of(corpus, tree, options.threads) if options.with_confidence else None
        text = corpus.with_trees(tree.heads, names, tree.labels, confidence, options.min_confidence)
        if with_header:
            header, end, text = text.partition(b"\n")
            yield header + end if rank == 1 else b""
        probability = probabilities[rank - 1]
        shown = "" if probability is None else f"# probability = {probability:.6g}\n"
        yield f"# tree = {rank} of {count}\n# score = {score:.6g}\n{shown}".encode()
        yield text
        if rank < count and not _BLANK_LINE.search(text):  # the last sentence of a file may end without
            yield b"\n"


COMMANDS = ParseCommands()
