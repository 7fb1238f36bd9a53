"""Files of classifiers: every part is checked when it is read, and commands know the task from the file."""

import numpy as np
import pytest

from marginloom import ModelFileError, MulticlassClassifier
from marginloom.io.model import CHECKPOINT, load_model, open_model, save_model
from marginloom.tasks.multiclass.model import MulticlassModel


@pytest.fixture
def parts(tmp_path):
    """Header and tensors of a classifier with costs."""
    X, y = np.eye(3), [1, 2, 3]
    MulticlassClassifier(C=1.0, cost_matrix=2 * (1 - np.eye(3)), warm_start=True).fit(X, y).save(tmp_path / "good")
    header, tensors = load_model(tmp_path / "good", "classify")
    return header, {name: np.array(tensor) for name, tensor in tensors.items()}


def test_whole_file_is_accepted(tmp_path, parts):
    save_model(tmp_path / "m", "classify", *parts)
    classifier = MulticlassModel.load(tmp_path / "m")
    assert classifier.labels.names == [1, 2, 3]
    assert classifier.state is not None
    assert open_model(tmp_path / "m").task == "classify"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda header, tensors: header.update(n_features=4), "weights were expected"),
        (lambda header, tensors: header.update(n_features=-1), "n_features"),
        (lambda header, tensors: header.update(n_features="3"), "n_features"),
        (lambda header, tensors: header.update(bias=-1.0), "bias"),
        (lambda header, tensors: header.update(bias=0.0), "weights were expected"),
        (lambda header, tensors: header.pop("bias"), "bias"),
        (lambda header, tensors: header.pop("settings"), "settings"),
        (lambda header, tensors: tensors.update(costs=np.zeros((2, 2))), "the costs do not fit the classes"),
        (lambda header, tensors: tensors.update(costs=np.zeros(9, dtype=np.int64)), "the costs do not fit"),
        (lambda header, tensors: tensors.update(labels=np.array([1, 2, 2])), "not whole numbers in order"),
        (lambda header, tensors: tensors.update(weights=np.full(32, np.nan)), "NaN"),
        (lambda header, tensors: tensors.pop("weights"), "weights"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(tmp_path, parts, change, said):
    change(*parts)
    save_model(tmp_path / "m", "classify", *parts)
    with pytest.raises(ModelFileError, match=said):
        MulticlassModel.load(tmp_path / "m")


def test_a_file_that_is_no_model_has_no_task(tmp_path):
    (tmp_path / "text").write_text("1 1:1\n")
    save_model(tmp_path / "checkpoint", CHECKPOINT, {}, {"weights": np.zeros(1)})
    for name, said in {"text": "not a model file", "gone": "no such file", "checkpoint": "is a checkpoint"}.items():
        with pytest.raises(ModelFileError, match=said):
            open_model(tmp_path / name)
