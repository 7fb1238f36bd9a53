"""`CustomEstimator` gives a task of the user's own the manners of the other estimators."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from support.custom_chains import EnumeratedChains, Majority, tiny
from support.program import run

from marginloom import (
    Callback,
    Checkpoint,
    CustomEstimator,
    CustomTask,
    InputError,
    ModelFileError,
    MulticlassClassifier,
    train,
)
from marginloom.io.model import load_model, save_model

VOTES = [(2, 1, 0), (0, 3, 1), (1, 0, 4), (3, 1, 1), (1, 2, 0), (0, 1, 2)] * 4
WINNERS = [int(np.argmax(votes)) for votes in VOTES]


class Signs(CustomTask):
    """A sign for each of n numbers, as a tuple; the weights times `scale` say how much a number's sign matters."""

    def __init__(self, X, Y=None, *, dimension=1, scale=1.0):
        self.scale = scale
        super().__init__(X, Y, dimension=dimension)

    def features(self, x, y):
        return {0: self.scale * sum(number * sign for number, sign in zip(x, y, strict=True))}

    def loss(self, gold, y):
        return float(sum(a != b for a, b in zip(gold, y, strict=True)))

    def argmax(self, x, w):
        return tuple(1 if w[0] * self.scale * number > 0 else -1 for number in x)

    def argmax_augmented(self, x, gold, w):
        scores = [
            {sign: w[0] * self.scale * number * sign + (sign != right) for sign in (1, -1)}
            for number, right in zip(x, gold, strict=True)
        ]
        return tuple(max(found, key=found.get) for found in scores)


NUMBERS = [(1.0, -2.0), (-1.0, -0.5), (0.5, 3.0), (-2.0, 1.0)] * 3
SIGNS = [tuple(1 if number > 0 else -1 for number in numbers) for numbers in NUMBERS]


@pytest.fixture(scope="module")
def fitted():
    return CustomEstimator(task=Majority, C=1.0).fit(VOTES, WINNERS)


def test_it_learns_what_training_the_task_learns(fitted):
    result = train(Majority(VOTES, WINNERS), C=1.0)
    assert np.array_equal(fitted.model_.weights, result.weights)
    assert fitted.certificate_ == result.certificate
    assert fitted.predict(VOTES) == Majority(VOTES).predict(result.weights)


def test_scores_are_those_of_the_predictions(fitted):
    wrong = [*WINNERS[:-3], 1, 1, 1]
    losses = [float(a != b) for a, b in zip(wrong, fitted.predict(VOTES), strict=True)]
    assert fitted.score(VOTES, wrong) == pytest.approx(-np.mean(losses))
    assert fitted.evaluate(VOTES, wrong) == {
        "accuracy": pytest.approx(1 - np.mean(losses)),
        "mean_loss": np.mean(losses),
    }
    weights = np.arange(len(VOTES))
    assert fitted.score(VOTES, wrong, weights) == pytest.approx(-np.average(losses, weights=weights))


def test_a_saved_model_is_data_and_the_class_is_given_to_load(tmp_path):
    estimator = CustomEstimator(task=Signs, parameters={"scale": 2.0}, C=0.5, random_state=3).fit(NUMBERS, SIGNS)
    estimator.save(tmp_path / "m")
    loaded = CustomEstimator.load(tmp_path / "m", task=Signs)
    assert loaded.predict(NUMBERS) == estimator.predict(NUMBERS) == SIGNS
    assert loaded.certificate_ == estimator.certificate_
    assert (loaded.task, loaded.parameters, loaded.C, loaded.random_state) == (Signs, {"scale": 2.0}, 0.5, 3)
    assert np.array_equal(loaded.fit(NUMBERS, SIGNS).model_.weights, estimator.model_.weights)
    with safe_open(tmp_path / "m", "np") as file:
        content = json.loads(file.metadata()["marginloom"])
        assert list(file.keys()) == ["weights"]
    assert content["header"]["parameters"] == {"scale": 2.0}
    assert "Signs" not in json.dumps(content)


def test_no_other_class_is_taken_for_the_one_of_the_model(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    other = CustomEstimator.load(tmp_path / "m", task=Signs)
    for use in (lambda: other.predict(NUMBERS), lambda: other.score(NUMBERS, SIGNS)):
        with pytest.raises(InputError, match="Signs has the dimension 1, and the model was trained with 3 weights"):
            use()
    with pytest.raises(TypeError, match="task"):
        CustomEstimator.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("parameters", [1]),
        ("parameters", None),
        ("n_weights", 4),
        ("n_weights", -1),
        ("n_weights", "3"),
        ("settings", 3),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(fitted, tmp_path, entry, value):
    fitted.save(tmp_path / "m")
    header, tensors = load_model(tmp_path / "m", "custom")
    save_model(tmp_path / "changed", "custom", {**header, entry: value}, tensors)
    with pytest.raises(ModelFileError, match="changed"):
        CustomEstimator.load(tmp_path / "changed", task=Majority)


def test_files_of_other_tasks_are_told_apart(fitted, tmp_path):
    fitted.save(tmp_path / "custom")
    MulticlassClassifier().fit(np.eye(2), [0, 1]).save(tmp_path / "classes")
    with pytest.raises(ModelFileError, match="'classify', expected 'custom'"):
        CustomEstimator.load(tmp_path / "classes", task=Majority)
    with pytest.raises(ModelFileError, match="'custom', expected 'classify'"):
        MulticlassClassifier.load(tmp_path / "custom")
    for command in ("predict", "evaluate"):
        said = run(command, tmp_path / "custom", "-", code=1).stderr
        assert "this is a model of the task 'custom', expected 'tag' or" in said
        assert "in Python, with the class: CustomEstimator.load(path, task=...)" in said


@pytest.mark.parametrize("value", [(1, 2), np.float64(2.0).astype(np.float32), {1: 2}, float("nan"), object()])
def test_parameters_that_a_file_cannot_hold_are_refused(value, tmp_path):
    def signs(X, Y=None, *, odd):
        return Signs(X, Y)

    estimator = CustomEstimator(task=signs, parameters={"odd": value}).fit(NUMBERS, SIGNS)
    with pytest.raises(InputError, match="the parameter 'odd' cannot be saved"):
        estimator.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_parameters_clone_and_repr():
    estimator = CustomEstimator(task=Signs, parameters={"scale": 2.0}, C=0.5)
    copy = clone(estimator.fit(NUMBERS, SIGNS))
    assert copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "model_")
    assert np.array_equal(copy.fit(NUMBERS, SIGNS).model_.weights, estimator.model_.weights)
    assert repr(estimator).startswith("CustomEstimator(C=0.5, parameters={'scale': 2.0},")
    assert estimator.set_params(C=2.0, parameters=None).parameters is None


def test_pickle(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.task is Majority
    assert again.predict(VOTES) == fitted.predict(VOTES)
    assert again.certificate_ == fitted.certificate_


def test_unfitted_estimator_says_so(tmp_path):
    estimator = CustomEstimator(task=Majority)
    for use in (estimator.predict, lambda X: estimator.score(X, WINNERS), lambda X: estimator.save(tmp_path / "m")):
        with pytest.raises(NotFittedError):
            use(VOTES)


def test_grid_search_over_the_task_and_the_training():
    grid = {"C": [1e-9, 1.0], "parameters": [{"scale": 1.0}, {"scale": 1e-9}]}
    search = GridSearchCV(CustomEstimator(task=Signs), grid, cv=3).fit(NUMBERS, SIGNS)
    assert search.best_score_ == 0.0
    assert search.predict(NUMBERS) == SIGNS


def test_cross_validation():
    estimator = CustomEstimator(task=Signs, C=1.0)
    assert cross_val_score(estimator, NUMBERS, SIGNS, cv=3).tolist() == [0.0, 0.0, 0.0]
    found = cross_val_predict(estimator, NUMBERS, SIGNS, cv=3)
    assert found.shape == (len(SIGNS),)
    assert found.tolist() == SIGNS


def test_evaluation_after_every_pass_and_weights_of_examples():
    estimator = CustomEstimator(task=Signs, max_iter=2).fit(
        NUMBERS, SIGNS, sample_weight=[0.0] * 11 + [1.0], eval_set=(NUMBERS, SIGNS)
    )
    assert set(estimator.history_[-1]["scores"]["dev"]) == {"accuracy", "mean_loss"}
    assert estimator.model_.settings["examples"] == 1


def test_k_best_where_the_task_has_it():
    chains = tiny()
    Y = [tuple(int(label) for label in y) for y in chains.y]

    def make(X, Y=None):
        task = EnumeratedChains(chains, gold=Y is not None)
        assert list(X) in (list(range(len(chains.X))), [])
        return task

    estimator = CustomEstimator(task=make, C=1.0).fit(range(len(Y)), Y)
    best = estimator.predict_k_best(range(len(Y)), k=2)
    assert [found[0][0] for found in best] == estimator.predict(range(len(Y)))
    with pytest.raises(InputError, match="no method argmax_k_best"):
        CustomEstimator(task=Signs).fit(NUMBERS, SIGNS).predict_k_best(NUMBERS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "Signs"}, "task must be a subclass of CustomTask"),
        ({"task": lambda X, Y=None: X}, "task must make a CustomTask"),
        ({"task": Signs, "parameters": 3}, "parameters must be a dict"),
    ],
)
def test_what_makes_no_task_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        CustomEstimator(**options).fit(NUMBERS, SIGNS)


def test_checkpoints_go_on(tmp_path):
    whole = CustomEstimator(task=Signs, max_iter=4, tol=1e-12).fit(NUMBERS, SIGNS)

    class Crash(Callback):
        def after_iteration(self, run, row):
            if row["iteration"] == 2:
                raise StopIteration

    estimator = CustomEstimator(task=Signs, max_iter=4, tol=1e-12)
    place = Checkpoint(tmp_path / "run", interval=0)
    with pytest.raises(StopIteration):
        estimator.fit(NUMBERS, SIGNS, callbacks=[Crash()], checkpoint=place)
    estimator.fit(NUMBERS, SIGNS, checkpoint=place, resume=True)
    assert np.array_equal(estimator.model_.weights, whole.model_.weights)


def test_the_class_is_never_imported_by_a_name_in_the_file(fitted, tmp_path):
    """A process that does not know the class can read the file, and gets what it gave."""
    fitted.save(tmp_path / "m")
    script = (
        "import sys\n"
        "from marginloom.tasks.custom.model import CustomModel\n"
        f"print(CustomModel.load({str(tmp_path / 'm')!r}).n_weights, 'support' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "False"]
