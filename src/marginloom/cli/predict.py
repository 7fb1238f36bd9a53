"""The command `marginloom predict`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from marginloom.cli.common import FormatOption, ModelArgument, ThreadsOption
from marginloom.errors import InputError
from marginloom.io.conll import ColumnCorpus, format_of, stream_tables
from marginloom.io.files import atomic_write, open_binary
from marginloom.tagging import Tagger


def predict(
    model: ModelArgument,
    input: Annotated[str, typer.Argument(metavar="INPUT", help="Sentences; - is standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="- is standard output.")] = "-",
    format: FormatOption = None,
    threads: ThreadsOption = 1,
) -> None:
    """Label sentences, in the format they come in.

    Columns get one more with the predicted labels; CoNLL-U gets them in the column that the model was trained on.
    """
    tagger = Tagger.load(model)
    trained_format = file_setting(tagger, "format", model)
    chosen = trained_format if input == "-" and format is None else format_of(input, format)
    column = int(file_setting(tagger, "label_column", model)) - 1
    with open_binary(input) as stream, _open_output(output) as out, _progress(input, output) as advance:
        for table in stream_tables(stream, chosen, input):
            corpus = ColumnCorpus(chosen, [table])
            _, numbers = tagger.tag(corpus, threads)
            out.write(table.with_labels(tagger.labels.vocabulary, numbers, column))
            out.flush()
            advance(table)


def file_setting(tagger: Tagger, name: str, model: str) -> str:
    """Return a setting that models trained on files have."""
    if name not in tagger.settings:
        raise InputError(
            f"{model}: this model was trained from Python on features, not on columns of a file; use it from Python "
            "with SequenceTagger.load"
        )
    return str(tagger.settings[name])


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
