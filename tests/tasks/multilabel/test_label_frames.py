"""Labels as the named columns of a data frame, of any library that has columns and arrays."""

import dataclasses

import numpy as np
import pandas
import pytest

from marginloom import InputError, MultilabelClassifier


@dataclasses.dataclass
class Frame:
    """What of a data frame is used."""

    values: np.ndarray
    columns: list

    @property
    def shape(self):
        return self.values.shape

    def to_numpy(self):
        return self.values


RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X @ RNG.normal(size=(4, 3)) > 0.2).astype(int)
NAMES = ["red", "blue", "green"]  # not in their order


def frame_of(values=Y, names=NAMES):
    return Frame(values, list(names))


def fitted(y, **options):
    return MultilabelClassifier(C=1.0, max_iter=30, **options).fit(X, y)


def test_columns_are_labels_and_predictions_have_their_order():
    classifier = fitted(frame_of())
    assert classifier.classes_.tolist() == NAMES
    predicted = classifier.predict(X)
    assert isinstance(predicted, np.ndarray)
    assert (predicted == fitted(Y).predict(X)).all()


@pytest.mark.parametrize("names", [NAMES, [30, 10, 20], list(np.array([3, 1, 2]))])
def test_a_saved_model_keeps_the_order_of_the_columns(names, tmp_path):
    classifier = fitted(frame_of(names=names))
    classifier.save(tmp_path / "model")
    loaded = MultilabelClassifier.load(tmp_path / "model")
    assert loaded.classes_.tolist() == classifier.classes_.tolist() == list(names)
    assert (loaded.predict(X) == classifier.predict(X)).all()


def test_labels_are_named_by_their_columns_in_costs_interactions_and_k_best():
    classifier = fitted(frame_of(), label_costs={"blue": (2.0, 1.0)}, interactions=[("green", "red")])
    assert classifier.pairs_ == [("red", "green")]
    assert {label for best in classifier.predict_k_best(X, 1) for label in best[0][0]} == set(NAMES)


def test_scores_find_the_columns_by_their_names():
    classifier = fitted(frame_of())
    turned = frame_of(Y[:, ::-1], NAMES[::-1])
    assert classifier.evaluate(X, turned) == classifier.evaluate(X, Y)
    assert classifier.score(X, turned) == classifier.score(X, frame_of())
    with pytest.raises(InputError, match=r"missing: \['green'\], unknown: \['grey'\]"):
        classifier.evaluate(X, frame_of(names=["red", "blue", "grey"]))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["red", "blue", "red"], "two columns of the name 'red'"),
        (["red", 1, "blue"], "all be named by strings or all by whole numbers"),
        ([1.5, 2.5, 3.5], "all be named by strings or all by whole numbers"),
    ],
)
def test_names_that_are_no_labels_are_refused(names, message):
    with pytest.raises(InputError, match=message):
        fitted(frame_of(names=names))


def test_values_other_than_zero_and_one_are_refused():
    with pytest.raises(InputError, match="0"):
        fitted(frame_of(2 * Y))


def test_pandas_has_such_frames():
    frame = pandas.DataFrame(Y.astype(bool), columns=NAMES)
    assert fitted(frame).classes_.tolist() == NAMES
    assert (fitted(frame).predict(X) == fitted(Y).predict(X)).all()
