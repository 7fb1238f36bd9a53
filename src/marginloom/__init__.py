"""marginloom trains linear structured predictors with large margins and proves how close to the optimum they are."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from marginloom.algorithms import ALGORITHMS, find_algorithm
    from marginloom.callbacks import Callback, EarlyStopping, ProgressBar
    from marginloom.certificate import Certificate
    from marginloom.checkpoint import Checkpoint
    from marginloom.datasets import make_tagging
    from marginloom.digits import make_digit_detection, read_mnist
    from marginloom.errors import InputError, MarginloomError, MemoryWarning, ModelFileError
    from marginloom.estimators.detection import ObjectDetector
    from marginloom.estimators.multiclass import MulticlassClassifier
    from marginloom.estimators.multilabel import MultilabelClassifier
    from marginloom.estimators.sequence import SequenceTagger
    from marginloom.io.crfsuite import read_crfsuite, write_crfsuite
    from marginloom.io.detections import read_detections, write_detections
    from marginloom.io.libsvm import read_libsvm, write_libsvm
    from marginloom.learners import DCD, MIRA, SGD, PassiveAggressive, Perceptron
    from marginloom.state import State
    from marginloom.tasks.custom import CustomTask
    from marginloom.training import Result, train

_HOMES = {
    "ALGORITHMS": "algorithms",
    "Callback": "callbacks",
    "Certificate": "certificate",
    "Checkpoint": "checkpoint",
    "CustomTask": "tasks.custom",
    "DCD": "learners",
    "EarlyStopping": "callbacks",
    "InputError": "errors",
    "MIRA": "learners",
    "MarginloomError": "errors",
    "MemoryWarning": "errors",
    "ModelFileError": "errors",
    "MulticlassClassifier": "estimators.multiclass",
    "ObjectDetector": "estimators.detection",
    "MultilabelClassifier": "estimators.multilabel",
    "PassiveAggressive": "learners",
    "Perceptron": "learners",
    "ProgressBar": "callbacks",
    "Result": "training",
    "SGD": "learners",
    "SequenceTagger": "estimators.sequence",
    "State": "state",
    "find_algorithm": "algorithms",
    "make_digit_detection": "digits",
    "make_tagging": "datasets",
    "read_crfsuite": "io.crfsuite",
    "read_detections": "io.detections",
    "read_libsvm": "io.libsvm",
    "read_mnist": "digits",
    "train": "training",
    "write_crfsuite": "io.crfsuite",
    "write_detections": "io.detections",
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
