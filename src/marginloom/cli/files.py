"""Training from files in Python, by the words of the command line."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

from marginloom.cli.recipes import new_recipe, run_command
from marginloom.cli.train import command_of_task
from marginloom.commands.caller import Caller, called_by
from marginloom.common.parameters import checked, option_name
from marginloom.errors import InputError
from marginloom.io.files import StrPath
from marginloom.tasks.loading import estimator_of
from marginloom.tasks.registry import find_command
from marginloom.training.world import Cluster


def train_files(
    task: str,
    training: StrPath | Sequence[StrPath],
    *,
    model: StrPath,
    cluster: Cluster | None = None,
    quiet: bool = True,
    **options: Any,
) -> Any:
    r"""Train from files as ``marginloom train`` does, and return the estimator.

    On a Dask cluster this is the way to train: all workers read the files.

    Parameters
    ----------
    task : str
        As on the command line: ``"tag"``, ``"parse"``, ``"classify"``, ``"multilabel"``, ``"detect"``, ...
    training : path or sequence of path
        Training files.
    model : path
        Model file to write.
    cluster : MPI or Dask, optional
        Train in many processes.
    quiet : bool
        Print only errors, and warnings about options and files.
    **options
        Any option of the command, without its dashes: ``C=0.5``, ``max_iter=20``, ``dev="dev.conllu"``,
        ``hash_bits=18``. A switch is true or false, and what may be repeated is a list.

    Returns
    -------
    Estimator
        As `marginloom.load` returns it from the model file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = pathlib.Path(folder, "train.conll")
    ...     _ = data.write_text("the DET\ndog NOUN\n\n")
    ...     tagger = train_files("tag", data, model=pathlib.Path(folder, "model"), algorithm="ms-dcd", tol=0.1)
    >>> tagger.predict([["the", "dog"]])
    [['DET', 'NOUN']]
    """
    registered = find_command(task)
    if registered is None:
        raise InputError(f"there is no task {task!r} on the command line")
    files = [training] if isinstance(training, (str, os.PathLike)) else list(training)
    given = {"model": os.fspath(model), "quiet": checked("quiet", quiet, "switch"), **options}
    switches = (parameter for parameter in command_of_task(registered).params if not parameter.secondary_opts)
    lone_switches = {option for parameter in switches for option in parameter.opts}
    arguments = ["train", task, *_words(given, lone_switches), "--", *(os.fspath(file) for file in files)]
    who = Caller(new_recipe(arguments), cluster, in_python=True)
    with called_by(who):
        if run_command(arguments):
            raise KeyboardInterrupt("training was interrupted")
    assert who.training is not None
    return estimator_of(registered).of_model(model, who.training.model)


def _words(options: dict[str, Any], lone_switches: Collection[str]) -> list[str]:
    """Return options as the command line has them; switches that have no opposite are left out if they are false.

    Examples
    --------
    >>> _words({"C": 0.5, "shuffle": False, "quiet": False, "gazetteer": ["a=x", "b=y"], "dev": None}, ["--quiet"])
    ['--C', '0.5', '--no-shuffle', '--gazetteer', 'a=x', '--gazetteer', 'b=y']
    """
    words: list[str] = []
    for name, value in options.items():
        option = option_name(name)
        if value is None or (value is False and option in lone_switches):
            continue
        if isinstance(value, bool):
            words.append(option if value else option_name(f"no_{name}"))
            continue
        for item in value if isinstance(value, (list, tuple)) else [value]:
            words += [option, os.fspath(item) if isinstance(item, os.PathLike) else str(item)]
    return words
