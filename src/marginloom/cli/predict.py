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
from marginloom.io.conll import FORMATS, ColumnCorpus, format_of, stream_tables
from marginloom.io.files import atomic_write, open_binary
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
    """
    tagger = Tagger.load(model)
    trained_format, column = file_settings(tagger, model)
    chosen = trained_format if input == "-" and format is None else format_of(input, format)
    if k_best > 1 and chosen == "conllu":
        raise usage_error("--k-best writes a column for each labelling, and CoNLL-U has no room for them")
    try:
        with open_binary(input) as stream, _open_output(output) as out, _progress(input, output) as advance:
            for table in stream_tables(stream, chosen, input):
                numbers = _labels(tagger, ColumnCorpus(chosen, [table]), k_best, threads)
                out.write(table.with_labels(tagger.labels.vocabulary, numbers, column - 1, k_best))
                out.flush()
                advance(table)
    except BrokenPipeError as error:  # whoever reads our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from error


def _labels(tagger: Tagger, corpus: ColumnCorpus, k: int, threads: int) -> NDArray[np.uint16]:
    """Return the numbers of the k best labels of every token, `UNSEEN` where a sentence has fewer labellings."""
    if k == 1:
        return tagger.tag(corpus, threads)[1]
    columns = np.full((int(corpus.sentences[-1]), k), UNSEEN)
    for start, labellings in zip(corpus.sentences[:-1].tolist(), tagger.tag_k_best(corpus, k, threads), strict=True):
        for rank, (numbers, _) in enumerate(labellings):
            columns[start : start + numbers.size, rank] = numbers
    return columns.reshape(-1)


def file_settings(tagger: Tagger, model: str) -> tuple[str, int]:
    """Return the format and the label's column, from 1, of the files that a model was trained on."""
    format, column = tagger.settings.get("format"), tagger.settings.get("label_column")
    if format not in FORMATS or not isinstance(column, int) or column < 1:
        raise InputError(
            f"{model}: this model was trained from Python on features, not on columns of a file; use it from Python "
            "with SequenceTagger.load"
        )
    return format, column


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
        yield lambda table: None
        return
    from rich.console import Console
    from rich.progress import Progress

    plain = input != "-" and not input.endswith((".gz", ".xz"))
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("predict", total=Path(input).stat().st_size if plain else None)
        yield lambda table: bar.advance(task, table.bytes)
