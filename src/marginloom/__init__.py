"""marginloom trains linear structured predictors with large margins and proves how close to the optimum they are."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from marginloom.algorithms import ALGORITHMS, find_algorithm
    from marginloom.errors import InputError, MarginloomError, MemoryWarning, ModelFileError
    from marginloom.io.crfsuite import read_crfsuite, write_crfsuite
    from marginloom.io.libsvm import read_libsvm, write_libsvm
    from marginloom.learners import DCD, MIRA, SGD, PassiveAggressive, Perceptron
    from marginloom.tasks.custom.task import CustomTask
    from marginloom.tasks.detection.digits import make_digit_detection, read_mnist
    from marginloom.tasks.detection.estimator import ObjectDetector
    from marginloom.tasks.detection.files import read_detections, write_detections
    from marginloom.tasks.multiclass.estimator import MulticlassClassifier
    from marginloom.tasks.multilabel.estimator import MultilabelClassifier
    from marginloom.tasks.sequence.datasets import make_tagging
    from marginloom.tasks.sequence.estimator import SequenceTagger
    from marginloom.training.callbacks import Callback, EarlyStopping, ProgressBar
    from marginloom.training.certificate import Certificate
    from marginloom.training.checkpoint import Checkpoint
    from marginloom.training.result import Result
    from marginloom.training.state import State
    from marginloom.training.train import train

_HOMES = {
    "ALGORITHMS": "algorithms",
    "Callback": "training.callbacks",
    "Certificate": "training.certificate",
    "Checkpoint": "training.checkpoint",
    "CustomTask": "tasks.custom.task",
    "DCD": "learners",
    "EarlyStopping": "training.callbacks",
    "InputError": "errors",
    "MIRA": "learners",
    "MarginloomError": "errors",
    "MemoryWarning": "errors",
    "ModelFileError": "errors",
    "MulticlassClassifier": "tasks.multiclass.estimator",
    "ObjectDetector": "tasks.detection.estimator",
    "MultilabelClassifier": "tasks.multilabel.estimator",
    "PassiveAggressive": "learners",
    "Perceptron": "learners",
    "ProgressBar": "training.callbacks",
    "Result": "training.result",
    "SGD": "learners",
    "SequenceTagger": "tasks.sequence.estimator",
    "State": "training.state",
    "find_algorithm": "algorithms",
    "make_digit_detection": "tasks.detection.digits",
    "make_tagging": "tasks.sequence.datasets",
    "read_crfsuite": "io.crfsuite",
    "read_detections": "tasks.detection.files",
    "read_libsvm": "io.libsvm",
    "read_mnist": "tasks.detection.digits",
    "train": "training.train",
    "write_crfsuite": "io.crfsuite",
    "write_detections": "tasks.detection.files",
    "write_libsvm": "io.libsvm",
}

__all__ = [
    "ALGORITHMS",
    "DCD",
    "MIRA",
    "SGD",
    "Callback",
    "Certificate",
    "Checkpoint",
    "CustomTask",
    "EarlyStopping",
    "InputError",
    "MarginloomError",
    "MemoryWarning",
    "ModelFileError",
    "MulticlassClassifier",
    "MultilabelClassifier",
    "ObjectDetector",
    "PassiveAggressive",
    "Perceptron",
    "ProgressBar",
    "Result",
    "SequenceTagger",
    "State",
    "find_algorithm",
    "make_digit_detection",
    "make_tagging",
    "read_crfsuite",
    "read_detections",
    "read_libsvm",
    "read_mnist",
    "train",
    "write_crfsuite",
    "write_detections",
    "write_libsvm",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'marginloom' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"marginloom.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
