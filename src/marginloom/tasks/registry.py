"""The tasks that there are, ours and those of other distributions. Nothing else lists them.

A task is a package with parts under fixed names. Of these `commands` has ``COMMANDS``, what the command line knows of
it. Another distribution adds a task by an entry point, whose name is the task's command and whose value is the package:

    [project.entry-points."marginloom.tasks"]
    point-out = "pointing"
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from marginloom.errors import InputError

GROUP = "marginloom.tasks"


@dataclasses.dataclass(frozen=True)
class Registered:
    """A task by its names.

    Attributes
    ----------
    package : str
        Where its parts are; the last word of it is the task's name in code.
    command : str or None
        Its name on the command line and in model files; None for a task that is for Python alone, whose files have
        its name in code.
    public : mapping
        Names in `marginloom`, each with the part that has it.
    distribution : str
        Where it comes from.
    """

    package: str
    command: str | None
    public: Mapping[str, str] = dataclasses.field(default_factory=dict)
    distribution: str = "marginloom"

    @property
    def name(self) -> str:
        """Its name in code."""
        return self.package.rpartition(".")[2]

    @property
    def file_name(self) -> str:
        """Its name in model files."""
        return self.command or self.name

    def part(self, name: str) -> Any:
        """Import one of its parts; `InputError` if a task of another distribution cannot be imported."""
        try:
            return importlib.import_module(f"{self.package}.{name}")
        except Exception as error:
            if self in OWN:
                raise
            reason = f"{type(error).__name__}: {error}"
            raise InputError(
                f"the task {self.command!r} of the distribution {self.distribution!r} cannot be loaded ({reason}); "
                "mend it or uninstall it"
            ) from error


OWN = (
    Registered(
        "marginloom.tasks.sequence",
        "tag",
        {"SequenceTagger": "estimator", "make_tagging": "datasets", "read_conll": "files"},
    ),
    Registered(
        "marginloom.tasks.parse",
        "parse",
        {
            "DependencyParser": "estimator",
            "make_treebank": "datasets",
            "read_conllu": "files",
            "write_conllu": "files",
        },
    ),
    Registered("marginloom.tasks.multiclass", "classify", {"MulticlassClassifier": "estimator"}),
    Registered(
        "marginloom.tasks.detection",
        "detect",
        {
            "ObjectDetector": "estimator",
            "make_digit_detection": "digits",
            "read_detections": "files",
            "read_mnist": "digits",
            "write_detections": "files",
        },
    ),
    Registered("marginloom.tasks.multilabel", "multilabel", {"MultilabelClassifier": "estimator"}),
    Registered(
        "marginloom.tasks.relations",
        "relations",
        {
            "RelationExtractor": "estimator",
            "make_relations": "datasets",
            "read_relations": "files",
            "write_relations": "files",
        },
    ),
    Registered("marginloom.tasks.custom", None, {"CustomEstimator": "estimator", "CustomTask": "task"}),
)

if TYPE_CHECKING:  # the same names, for type checkers
    from marginloom.tasks.custom.estimator import CustomEstimator as CustomEstimator
    from marginloom.tasks.custom.task import CustomTask as CustomTask
    from marginloom.tasks.detection.digits import make_digit_detection as make_digit_detection
    from marginloom.tasks.detection.digits import read_mnist as read_mnist
    from marginloom.tasks.detection.estimator import ObjectDetector as ObjectDetector
    from marginloom.tasks.detection.files import read_detections as read_detections
    from marginloom.tasks.detection.files import write_detections as write_detections
    from marginloom.tasks.multiclass.estimator import MulticlassClassifier as MulticlassClassifier
    from marginloom.tasks.multilabel.estimator import MultilabelClassifier as MultilabelClassifier
    from marginloom.tasks.parse.datasets import make_treebank as make_treebank
    from marginloom.tasks.parse.estimator import DependencyParser as DependencyParser
    from marginloom.tasks.parse.files import read_conllu as read_conllu
    from marginloom.tasks.parse.files import write_conllu as write_conllu
    from marginloom.tasks.relations.datasets import make_relations as make_relations
    from marginloom.tasks.relations.estimator import RelationExtractor as RelationExtractor
    from marginloom.tasks.relations.files import read_relations as read_relations
    from marginloom.tasks.relations.files import write_relations as write_relations
    from marginloom.tasks.sequence.datasets import make_tagging as make_tagging
    from marginloom.tasks.sequence.estimator import SequenceTagger as SequenceTagger
    from marginloom.tasks.sequence.files import read_conll as read_conll


def public_homes() -> dict[str, str]:
    """Return the names in `marginloom` that belong to tasks, each with its module.

    Examples
    --------
    >>> public_homes()["CustomTask"]
    'marginloom.tasks.custom.task'
    """
    return {name: f"{task.package}.{part}" for task in OWN for name, part in task.public.items()}


def all_tasks() -> Iterator[Registered]:
    """Yield our own tasks, then those of other distributions, without importing any."""
    from importlib.metadata import entry_points

    yield from OWN
    taken = {task.command for task in OWN}
    for point in entry_points(group=GROUP):
        if point.name not in taken:  # nobody takes the place of ours
            distribution = point.dist.name if point.dist is not None else point.module
            yield Registered(point.module, point.name, distribution=distribution)


def find_command(command: str) -> Registered | None:
    """Return the task that has this name on the command line and in model files, or None if there is none.

    Examples
    --------
    >>> find_command("tag").package
    'marginloom.tasks.sequence'
    """
    own = next((task for task in OWN if task.command == command), None)
    if own is not None or not command:
        return own
    found = {task.package: task for task in all_tasks() if task.command == command}
    if len(found) > 1:
        names = " and ".join(sorted(task.distribution for task in found.values()))
        raise InputError(f"the task {command!r} is registered more than once, by {names}; uninstall all but one")
    return next(iter(found.values()), None)


def find_in_files(name: str) -> Registered | None:
    """Return the task that has this name in model files, also one for Python alone, or None if there is none.

    Examples
    --------
    >>> find_in_files("custom").package
    'marginloom.tasks.custom'
    """
    alone = next((task for task in OWN if task.command is None and task.name == name), None)
    return alone or find_command(name)


def name_of(task_type: type) -> str:
    """Return the name in code of a task; that of the class if it belongs to no registered one.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> name_of(SequenceTask)
    'sequence'
    """
    task = _owner_of(task_type)
    return task_type.__name__ if task is None else task.name


def command_of(model_type: type) -> str:
    """Return the name in files of the task whose models these are.

    Examples
    --------
    >>> from marginloom.tasks.sequence.model import SequenceModel
    >>> command_of(SequenceModel)
    'tag'
    """
    task = _owner_of(model_type)
    if task is None:
        package = model_type.__module__.rpartition(".")[0]
        raise InputError(
            f"{model_type.__name__} belongs to no registered task: no entry point of the group {GROUP} names the "
            f"package {package}"
        )
    return task.file_name


def _owner_of(part: type) -> Registered | None:
    """Return the task to whose package a class belongs, or the nearest of its bases that belongs to one."""
    for base in part.__mro__:
        package = base.__module__.rpartition(".")[0]
        for tasks in (OWN, all_tasks()):
            for task in tasks:
                if task.package == package:
                    return task
    return None
