"""Loading a model of any task as the estimator that belongs to it."""

from __future__ import annotations

import inspect
import os
from typing import Any

from marginloom.errors import InputError, ModelFileError
from marginloom.io.files import StrPath
from marginloom.io.model import open_model
from marginloom.tasks.registry import Registered, all_tasks, find_in_files


def load(path: StrPath, *, task: Any = None) -> Any:
    """Return the estimator for a saved model, whatever its task.

    Parameters
    ----------
    path : path
        A model that an estimator's `save` or ``marginloom train`` has written.
    task : subclass of CustomTask, or callable, optional
        What a `CustomEstimator` was made with. Models of custom tasks need it, because a model file holds no code.

    Returns
    -------
    Estimator
        A fitted `SequenceTagger`, `DependencyParser`, `MulticlassClassifier`, ... , ready to predict.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or belongs to a task that is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from marginloom import SequenceTagger
    >>> tagger = SequenceTagger().fit([["the", "dog"]], [["DET", "NOUN"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tagger.safetensors")
    ...     tagger.save(path)
    ...     load(path).predict([["the", "dog"]])
    [['DET', 'NOUN']]
    """
    opened = open_model(path)
    name = str(opened.task)
    registered = find_in_files(name)
    if registered is None:
        known = ", ".join(repr(other.file_name) for other in all_tasks())
        raise ModelFileError(
            f"{os.fspath(path)!r}: this is a model of the task {name!r}, which is not installed; "
            f"the tasks here are: {known}"
        )
    if registered.name == "custom":
        if task is None:
            raise InputError(
                f"{os.fspath(path)!r} is a model of a custom task, and a model file holds no code; give the class that "
                "the estimator was made with: load(path, task=...)"
            )
        return estimator_of(registered).load(path, task=task)
    if task is not None:
        raise InputError(f"task= is for models of custom tasks, and {os.fspath(path)!r} is one of the task {name!r}")
    estimator = estimator_of(registered)
    return estimator.of_model(path, estimator.model_type.load(opened))


def estimator_of(task: Registered) -> Any:
    """Return the class of the estimator in a task's part `estimator`."""
    from marginloom.tasks.base.estimator import Estimator

    module = task.part("estimator")
    own = [
        member
        for member in vars(module).values()
        if inspect.isclass(member) and issubclass(member, Estimator) and member.__module__ == module.__name__
    ]
    if len(own) != 1:
        raise InputError(f"{module.__name__} must define one subclass of Estimator, and it defines {len(own)}")
    return own[0]
