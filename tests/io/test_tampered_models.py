"""Models of every task with replaced parts and right checksums raise our errors only, wherever they are used."""

import copy
import io
import json
import os
import sys
import zlib

import numpy as np
import pytest
from support.damaged_models import save_unchecked
from support.program import fails, run

from marginloom import (
    MarginloomError,
    ModelFileError,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    SequenceTagger,
)
from marginloom.cli import run as run_here
from marginloom.io.model import FORMAT, load_model, save_model

ROWS = np.round(np.random.default_rng(0).normal(size=(12, 4)), 1)
WORDS = [["the", "dog", "runs"], ["it", "runs"], ["the", "end"]]
TAGS = [["D", "N", "V"], ["P", "V"], ["D", "N"]]
IMAGES = np.random.default_rng(1).random((4, 5, 6))
OBJECTS = [("cat", (0, 0, 2, 3)), ("dog", (1, 2, 2, 3)), ("cat", (2, 1, 2, 3)), ("dog", (3, 3, 2, 3))]

TASKS = {
    "tag": (SequenceTagger(features="tagging", constraints=[("N", "N")], max_iter=2, warm_start=True), WORDS, TAGS),
    "classify": (MulticlassClassifier(max_iter=2, warm_start=True), ROWS, np.arange(12) % 3),
    "multilabel": (
        MultilabelClassifier(interactions="tree", max_iter=2, warm_start=True),
        ROWS,
        [["a", "b"], ["c"], []] * 4,
    ),
    "detect": (ObjectDetector(max_iter=2, warm_start=True), IMAGES, OBJECTS),
}
#: One of each JSON type, and numbers out of range.
VALUES = [None, True, -1, 2**63, 10**400, 0.5, float("nan"), "x", "\ud800", [[1, 2]], [["a"]], {}]


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("marginloom.io.files.os.fsync", lambda number: None)


@pytest.fixture(scope="module", params=TASKS)
def trained(request, tmp_path_factory):
    """A task, what to predict for, the right outputs, and the parts of a model."""
    estimator, X, y = TASKS[request.param]
    path = tmp_path_factory.mktemp("model") / "m"
    estimator.fit(X, y).save(path)
    header, tensors = load_model(path, request.param)
    return request.param, X, y, header, {name: array.copy() for name, array in tensors.items()}


def places(value, path=()):
    """Yield the path to everything within a JSON value."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def replaced(value, path, new):
    changed = copy.deepcopy(value)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = new
    return changed


def use(path, task, X, y, *, warm_start=True):
    """Load a model and do with it what can be done; tell whether it was refused by one of our errors."""
    kind = type(TASKS[task][0])
    try:
        loaded = kind.load(path)
        repr(loaded)
        json.dumps(loaded.model_.summary()).encode()
        loaded.model_.strongest(30)
        loaded.predict(X)
        loaded.predict_k_best(X, 2)
        if warm_start:
            fresh = kind(**TASKS[task][0].get_params())
            fresh._adopt(loaded.model_)
            fresh.fit(X, y)
    except MarginloomError as error:
        assert str(error)  # noqa: PT017
        return True
    return False


def test_every_entry_of_the_header_replaced_by_every_type(tmp_path, trained):
    task, X, y, header, tensors = trained
    refused = 0
    for place in places(header):
        for value in VALUES:
            save_unchecked(tmp_path / "m", task, replaced(header, place, value), tensors)
            refused += use(tmp_path / "m", task, X, y, warm_start=place[0] == "state")
    assert refused > 50


ARRAYS = {
    "type": lambda array: array.astype("<i8" if array.dtype != np.int64 else "<f8"),
    "small type": lambda array: array.astype("?"),
    "cut": lambda array: array[:-1].copy(),
    "empty": lambda array: array[:0].copy(),
    "more": lambda array: np.concatenate([array, array]),
    "no dimension": lambda array: array.reshape(-1)[:1].reshape(()),
    "another dimension": lambda array: array[np.newaxis],
    "largest": lambda array: np.full_like(array, np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).max),
    "zero": np.zeros_like,
    "turned round": lambda array: array[::-1].copy(),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_every_array_replaced_by_another_kind(tmp_path, trained):
    task, X, y, header, tensors = trained
    refused = 0
    for name, array in tensors.items():
        for change in ARRAYS.values():
            if array.size:
                save_model(tmp_path / "m", task, header, {**tensors, name: change(array)})
                refused += use(tmp_path / "m", task, X, y)
        save_model(tmp_path / "m", task, header, {key: value for key, value in tensors.items() if key != name})
        refused += use(tmp_path / "m", task, X, y)
    assert refused > len(tensors)


def test_every_option_of_extracted_features_replaced_by_every_type(tmp_path):
    estimator, X, y = TASKS["tag"]
    estimator.fit(X, y).save(tmp_path / "good")
    header, tensors = load_model(tmp_path / "good", "tag")
    options = json.loads(tensors["features_options"].tobytes())
    for place in places(options):
        for value in VALUES:
            text = json.dumps(replaced(options, place, value)).encode()
            tampered = {**tensors, "features_options": np.frombuffer(text, dtype=np.uint8)}
            save_model(tmp_path / "m", "tag", header, tampered)
            use(tmp_path / "m", "tag", X, y)


def save_content(path, content, tensors):
    """Write a file whose outermost part is what is given, with a right checksum."""
    from safetensors.numpy import save

    content = {key: value for key, value in content.items() if key != "checksum"}
    content["checksum"] = zlib.crc32(json.dumps(content, sort_keys=True).encode())
    path.write_bytes(save(tensors, {FORMAT: json.dumps(content, sort_keys=True)}))


def test_every_entry_around_the_header_replaced_by_every_type(tmp_path, trained):
    from safetensors import safe_open

    task, X, y, header, tensors = trained
    save_model(tmp_path / "m", task, header, tensors)
    with safe_open(tmp_path / "m", framework="numpy") as file:
        content = json.loads(file.metadata()[FORMAT])
    for name in content:
        for value in VALUES:
            save_content(tmp_path / "m", {**content, name: value}, tensors)
            if name != "checksum":
                assert use(tmp_path / "m", task, X, y) or value == content[name]


def test_header_nested_deeply_is_refused(tmp_path, trained):
    task, X, y, header, tensors = trained
    nested = "x"
    for _ in range(300):
        nested = [nested]
    save_unchecked(tmp_path / "m", task, {**header, "settings": {**header["settings"], "C": nested}}, tensors)
    assert use(tmp_path / "m", task, X, y)


def inspected(path, monkeypatch):
    """Run `marginloom inspect` in this process and return its exit code and what it said."""
    out, messages = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", messages)
    code = run_here(["inspect", os.fspath(path)])
    monkeypatch.undo()
    messages.flush()
    return code, messages.buffer.getvalue().decode()


def test_inspection_of_changed_headers_ends_with_0_or_with_one_line(tmp_path, trained, monkeypatch):
    task, _, _, header, tensors = trained
    for number, place in enumerate(place for place in places(header) if len(place) < 3):
        save_unchecked(tmp_path / "m", task, replaced(header, place, VALUES[number % len(VALUES)]), tensors)
        code, said = inspected(tmp_path / "m", monkeypatch)
        assert (code, said) == (0, "") or (code == 1 and said.startswith("marginloom: ") and said.count("\n") == 1)
        assert "this is a bug" not in said


def test_what_a_terminal_would_obey_is_shown_and_not_sent(tmp_path, trained):
    _, _, _, header, tensors = trained
    save_model(tmp_path / "two\nlines", "parse\n\x1b[31m", header, tensors)
    said = fails("inspect", tmp_path / "two\nlines")
    assert "two\\nlines" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("features", ["x" * 5000, "a\0b", 5, ["words"]])
def test_feature_set_that_can_be_no_name_is_told(features):
    with pytest.raises(MarginloomError, match="there is no feature set"):
        SequenceTagger(features=features).fit(WORDS, TAGS)


def test_padding_of_the_weights_is_not_described(tmp_path):
    """Weights beyond the last label belong to nothing, whatever a file says."""
    estimator, X, y = TASKS["tag"]
    estimator.fit(X, y).save(tmp_path / "m")
    header, tensors = load_model(tmp_path / "m", "tag")
    save_model(tmp_path / "m", "tag", header, {**tensors, "weights": np.full_like(tensors["weights"], 2.0)})
    labels = {entry["label"] for entry in SequenceTagger.load(tmp_path / "m").model_.strongest(1000)}
    assert labels == set("DNPV")
    run("inspect", tmp_path / "m", "--top", "1000")


def test_scores_beyond_the_range_of_numbers_are_an_error_about_the_input(tmp_path):
    estimator, X, y = TASKS["detect"]
    estimator.fit(X, y).save(tmp_path / "m")
    header, tensors = load_model(tmp_path / "m", "detect")
    save_model(tmp_path / "m", "detect", header, {**tensors, "weights": np.full_like(tensors["weights"], 1e300)})
    with pytest.raises(MarginloomError, match="single precision"):
        ObjectDetector.load(tmp_path / "m").predict(X)


@pytest.mark.parametrize("size", [1e300, 1e308])
def test_state_whose_scores_are_beyond_the_range_of_numbers_is_told(tmp_path, size):
    """Whatever the core says in the middle of a pass is an error about the input, or training recovers."""
    estimator, X, y = TASKS["tag"]
    estimator.fit(X, y).save(tmp_path / "m")
    header, tensors = load_model(tmp_path / "m", "tag")
    tampered = {**tensors, "state.duals": np.full_like(tensors["state.duals"], size)}
    save_model(tmp_path / "m", "tag", header, tampered)
    assert use(tmp_path / "m", "tag", X, y)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_model_without_permission_is_not_called_missing(tmp_path):
    estimator, X, y = TASKS["classify"]
    estimator.fit(X, y).save(tmp_path / "m")
    (tmp_path / "m").chmod(0)
    with pytest.raises(ModelFileError, match="permission is denied"):
        MulticlassClassifier.load(tmp_path / "m")


def test_reasons_why_a_model_cannot_be_opened(tmp_path, monkeypatch):
    def deny(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "m").write_bytes(b"")
    monkeypatch.setattr("marginloom.io.model.Path.open", deny)
    with pytest.raises(ModelFileError, match="permission is denied"):
        SequenceTagger.load(tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="device or a pipe"):
        SequenceTagger.load(os.devnull)
    with pytest.raises(ModelFileError, match="cannot be the name of a file"):
        SequenceTagger.load("a\0b")
    with pytest.raises(ModelFileError, match="too long"):
        SequenceTagger.load(tmp_path / ("x" * 400))
