"""The command `marginloom predict`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from marginloom.cli.common import FormatOption, ModelArgument, ThreadsOption, usage_error
from marginloom.errors import InputError
from marginloom.io.conll import default_label_column
from marginloom.io.corpus import Corpus, stream_corpora
from marginloom.io.files import atomic_write, open_binary
from marginloom.io.formats import CRFSUITE, FORMATS, format_of
from marginloom.labels import UNSEEN
from marginloom.tagging import Tagger


def predict(
    model: ModelArgument,
    input: Annotated[str, typer.Argument(metavar="INPUT", help="Sentences; - is standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="- is standard output.")] = "-",
    k_best: Annotated[
        int, typer.Option("--k-best", metavar="K", min=1, help="Write a column for each of the K best labellings.")
    ] = 1,
    format: FormatOption = None,
    threads: ThreadsOption = 1,
) -> None:
    """Label sentences, in the format they come in.

    Columns get one more with the predicted labels; CoNLL-U gets them in the column that the model was trained on.
    For ready features in crfsuite's format the labels come alone, one a line, as CRFsuite writes them.
    """
    tagger = Tagger.load(model)
    chosen, column = file_settings(tagger, model, input, format)
    if k_best > 1 and chosen != "conll":
        raise usage_error(f"--k-best writes a column for each labelling, and the format {chosen} has no room for them")
    try:
        with open_binary(input) as stream, _open_output(output) as out, _progress(input, output) as advance:
            for corpus in stream_corpora(stream, chosen, input):
                numbers = _labels(tagger, corpus, k_best, threads)
                out.write(corpus.with_labels(tagger.labels.vocabulary, numbers, (column or 1) - 1, k_best))
                out.flush()
                advance(corpus.byte_count)
    except BrokenPipeError as error:  # whoever reads our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from error


def _labels(tagger: Tagger, corpus: Corpus, k: int, threads: int) -> NDArray[np.uint16]:
    """Return the numbers of the k best labels of every token, `UNSEEN` where a sentence has fewer labellings."""
    if k == 1:
        return tagger.tag(corpus, threads)[1]
    columns = np.full((int(corpus.sentences[-1]), k), UNSEEN)
    for start, labellings in zip(corpus.sentences[:-1].tolist(), tagger.tag_k_best(corpus, k, threads), strict=True):
        for rank, (numbers, _) in enumerate(labellings):
            columns[start : start + numbers.size, rank] = numbers
    return columns.reshape(-1)


def file_settings(tagger: Tagger, model: str, input: str, format: str | None) -> tuple[str, int | None]:
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


@contextmanager
def _open_output(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


@contextmanager
def _progress(input: str, output: str) -> Iterator[Any]:
    """Show how much of a file is done, on a terminal that does not show the output itself."""
    if output == "-" or not sys.stderr.isatty():
        yield lambda byte_count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    plain = input != "-" and not input.endswith((".gz", ".xz"))
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("predict", total=Path(input).stat().st_size if plain else None)
        yield lambda byte_count: bar.advance(task, byte_count)
