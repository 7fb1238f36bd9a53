"""The command `marginloom evaluate`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from marginloom.cli.common import (
    ColumnOption,
    FormatOption,
    JsonOption,
    ModelArgument,
    ThreadsOption,
    note,
    score_lines,
    usage_error,
)
from marginloom.cli.predict import file_settings
from marginloom.io.corpus import read_corpus
from marginloom.io.formats import CRFSUITE
from marginloom.tagging import Evaluator, Labelled, Tagger


def evaluate(
    model: ModelArgument,
    input: Annotated[str, typer.Argument(metavar="INPUT", help="Sentences with their right labels.")],
    column: ColumnOption = None,
    format: FormatOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Score a model's predictions; the labels are by default in the column that the model was trained on."""
    tagger = Tagger.load(model)
    chosen, trained_column = file_settings(tagger, model, input, format)
    if chosen == CRFSUITE and column is not None:
        raise usage_error("in crfsuite's format the labels are the first field: --column cannot be given")
    corpus = read_corpus([input], chosen)
    labelled = Labelled.from_corpus(corpus, corpus.label_column(trained_column if column is None else column))
    evaluator = Evaluator(tagger, labelled, threads)
    if evaluator.unseen:
        shown = ", ".join(f"{label} ({count})" for label, count in list(evaluator.unseen.items())[:10])
        more = f" and {len(evaluator.unseen) - 10} more" if len(evaluator.unseen) > 10 else ""
        note(f"{input}: labels that training did not see count as errors: {shown}{more}")
    scores = evaluator(tagger.weights)
    if as_json:
        counts = {"sentences": evaluator.sentence_count, "tokens": evaluator.token_count}
        print(json.dumps({"scores": scores, **counts, "unseen_labels": evaluator.unseen}))
    else:
        print(f"{evaluator.sentence_count} sentences, {evaluator.token_count} tokens")
        print("\n".join(score_lines("scores", scores)))
