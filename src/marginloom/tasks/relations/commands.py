"""What the command line knows of entities and relations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

import typer

from marginloom.commands.caller import caller
from marginloom.commands.common import gazetteer_files, note, usage_check, usage_error, usage_errors
from marginloom.commands.help import FEATURES, INPUT, STRUCTURE, TRAINING
from marginloom.commands.task_commands import EvaluateOptions, PredictOptions, TaskCommands, streams
from marginloom.commands.training import TrainingData, run_training
from marginloom.commands.training_options import (
    ClustersOption,
    GazetteerOption,
    HashBitsOption,
    MinCountOption,
    TrainingOptions,
    training_command,
)
from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.features import Lists
from marginloom.io.confidence import WITHHELD
from marginloom.io.overwriting import refuse_overwriting
from marginloom.tasks.relations.evaluator import Labelled
from marginloom.tasks.relations.feature_sets import FEATURE_SETS
from marginloom.tasks.relations.features import SpanFeatureSet
from marginloom.tasks.relations.files import json_line, read_corpus, stream_corpora
from marginloom.tasks.relations.gold import INVALID_GOLD
from marginloom.tasks.relations.model import RelationsModel
from marginloom.tasks.relations.problem import RelationsProblem, check_type_constraints
from marginloom.tasks.relations.sentences import Sentence
from marginloom.tasks.relations.spans import Tagger
from marginloom.tasks.relations.task import NODE_LIMIT, TIME_LIMIT, Losses, Solver
from marginloom.tasks.relations.type_table import described, read_relation_types
from marginloom.tasks.sequence.model import SequenceModel

SpansOption = Annotated[
    str | None,
    typer.Option(
        "--spans",
        metavar="MODEL",
        help="Find the entities with this tagger instead of taking those of the input.",
        rich_help_panel=INPUT,
    ),
]


def _loss_option(name: str, help: str) -> Any:
    check = usage_check(lambda value: checked(name[2:].replace("-", "_"), value, "not negative"))
    return typer.Option(name, metavar="X", callback=check, help=help, rich_help_panel=TRAINING)


@training_command
def train(
    *,
    options: TrainingOptions,
    relation_types: Annotated[
        str | None,
        typer.Option(
            "--relation-types",
            metavar="FILE",
            help="File with the entity types that relations may connect; each line has a relation, the type of its "
            "head and the type of its tail. [default: those in the training data]",
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    type_constraints: Annotated[
        str,
        typer.Option(
            "--type-constraints",
            metavar="WHEN",
            help="When the types of --relation-types are enforced: both (in training and prediction), predict (in "
            "prediction only) or none (never).",
            rich_help_panel=STRUCTURE,
        ),
    ] = "both",
    solver: Annotated[
        str,
        typer.Option(
            "--solver",
            metavar="NAME",
            help="How the best output is found: native (branch and bound) or ilp (an integer linear program, solved by "
            "scipy; slow).",
            rich_help_panel=STRUCTURE,
        ),
    ] = "native",
    node_limit: Annotated[
        int | None,
        typer.Option(
            "--node-limit",
            metavar="N",
            min=0,
            help=f"For --solver native: maximum number of search nodes per sentence; 0 means no limit. [default: "
            f"{NODE_LIMIT:,}]",
            hidden=True,
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0,
            help=f"For --solver ilp: maximum time per sentence; 0 means no limit. [default: {TIME_LIMIT:g}]",
            hidden=True,
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    entity_loss: Annotated[float, _loss_option("--entity-loss", "Cost of an entity with a wrong type.")] = 2.0,
    pair_loss: Annotated[
        float, _loss_option("--pair-loss", "Cost of predicting a relation for a pair that has none.")
    ] = 1.0,
    missed_relation_loss: Annotated[
        float,
        _loss_option(
            "--missed-relation-loss",
            "Cost of missing a gold relation or giving it a wrong type; larger values raise recall.",
        ),
    ] = 1.5,
    features: Annotated[
        str,
        typer.Option(
            "--features", metavar="SET", help="Feature set: spans, or a file of templates.", rich_help_panel=FEATURES
        ),
    ] = "spans",
    gazetteer: GazetteerOption = None,
    clusters: ClustersOption = None,
    hash_bits: HashBitsOption = None,
    min_count: MinCountOption = 1,
    invalid_gold: Annotated[
        str,
        typer.Option(
            "--invalid-gold",
            metavar="WHAT",
            help="What to do with gold relations that the type constraints forbid, and with a second relation of the "
            "same pair: error, repair (remove the relation) or skip (omit the sentence).",
            rich_help_panel=INPUT,
        ),
    ] = "error",
) -> None:
    """Train a relation extractor: types of entities and relations between them.

    Files have one sentence per line, as a JSON object with tokens, entities and relations.
    """
    with usage_errors():
        checked("min_count", min_count, "positive count")
        gazetteers = gazetteer_files(gazetteer or [])
        losses = Losses(entity_loss, pair_loss, missed_relation_loss)
        chosen = Solver(solver, node_limit, time_limit)
        check_type_constraints(type_constraints, relation_types is not None)
        if invalid_gold not in INVALID_GOLD:
            raise usage_error(f"--invalid-gold must be one of {', '.join(INVALID_GOLD)}, not {invalid_gold!r}")
        feature_set = SpanFeatureSet(
            features,
            hash_bits=hash_bits,
            min_count=min_count,
            lists=Lists.read(clusters, gazetteers),
            n_threads=resolve_threads(options.training_threads),
        )

    def read() -> TrainingData:
        table = None if relation_types is None else read_relation_types(relation_types)
        problem = RelationsProblem(
            training=read_corpus(options.training, labelled=True),
            features=feature_set,
            relation_types=table,
            type_constraints=type_constraints,
            losses=losses,
            solver=chosen,
            invalid_gold=invalid_gold,
            tell=_teller(options),
        )
        sets = {name: Labelled(read_corpus([path], labelled=True)) for name, path in options.evaluation_files.items()}
        return TrainingData(problem, sets)

    reads = [("--gazetteer", path) for path in gazetteers.values()]
    reads += [("--clusters", clusters)] if clusters is not None else []
    reads += [("--features", features)] if features not in FEATURE_SETS else []
    reads += [("--relation-types", relation_types)] if relation_types is not None else []
    run_training(options, RelationsModel, read, reads)


def _teller(options: TrainingOptions) -> Callable[[str], None] | None:
    """Return what says a line in the process that talks to the user."""
    silent = options.quiet or caller().serves or caller().task_only
    return None if silent else note


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelationsPredictOptions(PredictOptions):
    """Options of `marginloom predict` for entities and relations."""

    spans: SpansOption = None

    def check_outputs(self) -> None:
        """Raise `InputError` if an output is something else of the run."""
        super().check_outputs()
        if self.spans is not None:
            refuse_overwriting(self.outputs(), [("the tagger", self.spans)])


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelationsEvaluateOptions(EvaluateOptions):
    """Options of `marginloom evaluate` for entities and relations."""

    spans: SpansOption = None


class RelationsCommands(TaskCommands[RelationsModel, RelationsPredictOptions, RelationsEvaluateOptions]):
    """Predict, evaluate and inspect for extractors of entity types and relations."""

    train = staticmethod(train)
    plural = "relation extractors"
    train_examples = (
        "marginloom train relations train.jsonl --dev dev.jsonl --model relations.safetensors",
        "marginloom train relations train.jsonl --missed-relation-loss 2 -o r.safetensors",
    )
    model_type = RelationsModel
    predict_options = RelationsPredictOptions
    evaluate_options = RelationsEvaluateOptions
    predict_help = (
        "Relation extractors: the input has one sentence per line, as a JSON object with tokens and entities (start "
        "and end), and pos if training had it. The output has the same lines with the types of the entities and the "
        "relations. With --spans MODEL, a tagger finds the entities, and the input needs none. "
        "--confidence adds the field confidence to entities and relations."
    )

    def predict(self, model: RelationsModel, options: RelationsPredictOptions) -> None:
        """Write the lines with types and relations; all other fields stay."""
        tagger = _tagger(options.spans)
        if options.with_confidence:
            _ = model.tempering  # before the long work
        predict = model.predict_with_confidence if options.with_confidence else model.predict
        with streams(options) as (stream, out, advance):
            for piece in stream_corpora(stream, options.input, spans=tagger is None):
                found = predict(piece.corpus, options.threads, tagger)
                for item in (item for one in found for item in (*one["entities"], *one["relations"])):
                    if options.withholds(item.get("confidence")):
                        item["type"] = WITHHELD
                lines = map(_line, piece.corpus.sentences, found)
                out.write("".join(lines).encode())
                out.flush()
                advance(piece.byte_count)

    def read_labelled(self, model: RelationsModel, options: RelationsEvaluateOptions) -> Labelled:
        """Read sentences with their gold types and relations."""
        return Labelled(read_corpus([options.input], labelled=True), _tagger(options.spans))

    def describe(self, model: RelationsModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on types, relations and features."""
        counts = ", ".join(f"{count:,} of {name}" for name, count in model.features.counts.items())
        where = {"both": "in training and prediction", "predict": "in prediction only", "none": "never"}
        losses = model.losses
        return [
            ("types", f"{len(model.types)}: {', '.join(model.types)}"),
            ("relations", f"{len(model.relations)}: {described(model.table)}" if model.relations else "none"),
            ("enforced", where[model.type_constraints]),
            ("losses", f"entity {losses.entity:g}, pair {losses.pair:g}, missed relation {losses.missed:g}"),
            ("solver", model.solver.name),
            ("features", f"{model.features.name} ({counts})"),
            ("reads", "tokens and pos" if model.features.reads_pos else "tokens"),
        ]

    def legend(self, model: RelationsModel) -> str:
        """Explain the names of features and of labels."""
        if self.is_hashed(model):
            return "Hashed features have no names and are not shown; train without --hash-bits to see them."
        return (
            "Labels of pairs begin with 'relation'. word[last]=Bank: the last word of the entity is Bank. "
            "lower[between.every]=in: the word 'in' stands between the two entities. docs/relations.md lists all."
        )

    def is_hashed(self, model: RelationsModel) -> bool:
        """Tell whether features are hashed."""
        return model.features.hash_bits is not None


def _tagger(path: str | None) -> Tagger | None:
    return None if path is None else SequenceModel.load(path)


def _line(sentence: Sentence, found: dict[str, Any]) -> str:
    """Return the line of a sentence with what was found; entities of the input keep their other fields."""
    record = dict(sentence.record)
    given = record.get("entities")
    if isinstance(given, list) and len(given) == len(found["entities"]) and sentence.spans:
        record["entities"] = [{**old, **new} for old, new in zip(given, found["entities"], strict=True)]
    else:
        record["entities"] = found["entities"]
    record["relations"] = found["relations"]
    return json_line(record)


COMMANDS = RelationsCommands()
