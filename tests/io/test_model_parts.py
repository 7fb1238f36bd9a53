"""Models with right checksums whose parts do not fit together are refused, without a crash."""

import copy

import numpy as np
import pytest
from support.program import fails, run

from marginloom import InputError, ModelFileError, SequenceTagger
from marginloom.io.model import load_model as map_model
from marginloom.io.model import save_model
from marginloom.tasks.sequence.datasets import write_conll
from marginloom.tasks.sequence.model import SequenceModel


def load_model(path, task):
    """Return the parts of a model as arrays that can be changed."""
    header, tensors = map_model(path, task)
    return header, {name: array.copy() for name, array in tensors.items()}


WORDS = [["the", "dog", "runs"], ["it", "runs"], ["the", "end"]]
TAGS = [["D", "N", "V"], ["P", "V"], ["D", "N"]]
U64 = np.uint64


@pytest.fixture
def words_model(tmp_path):
    """Header and tensors of a model on words with string labels."""
    SequenceTagger(features="words", max_iter=5, warm_start=True).fit(WORDS, TAGS).save(tmp_path / "m")
    return load_model(tmp_path / "m", "tag")


@pytest.fixture
def matrix_model(tmp_path):
    """Header and tensors of a model on four columns with integer labels."""
    SequenceTagger(max_iter=5).fit(np.eye(4), [3, 5, 9, 3], lengths=[4]).save(tmp_path / "m")
    return load_model(tmp_path / "m", "tag")


def refused(tmp_path, parts, change):
    header, tensors = copy.deepcopy(parts)
    change(header, tensors)
    path = tmp_path / "changed"
    save_model(path, "tag", header, tensors)
    with pytest.raises(ModelFileError) as caught:
        SequenceModel.load(path)
    assert str(path) in str(caught.value)


def put(**arrays):
    return lambda header, tensors: tensors.update(arrays)


def text(value):
    return np.frombuffer(value, dtype=np.uint8)


def with_header(name, value):
    return lambda header, tensors: header.update({name: value})


def test_unchanged_parts_are_a_good_model(tmp_path, words_model, matrix_model):
    for parts in (words_model, matrix_model):
        save_model(tmp_path / "m", "tag", *parts)
        assert SequenceModel.load(tmp_path / "m").predict([] if parts is matrix_model else [["the"]])


BROKEN = {
    "offsets descend": put(features_offsets=np.array([0, 3, 2, 6, 20], dtype=U64)),
    "offsets do not start at 0": put(features_offsets=np.array([1, 3, 6], dtype=U64), features_text=text(b"abcdef")),
    "offsets beyond the text": put(features_offsets=np.array([0, 3, 2**63], dtype=U64)),
    "offsets end early": put(features_offsets=np.array([0, 1], dtype=U64)),
    "no offsets": put(features_offsets=np.zeros(0, dtype=U64)),
    "offsets of two dimensions": put(features_offsets=np.zeros((1, 1), dtype=U64), features_text=text(b"")),
    "offsets signed": put(features_offsets=np.array([0, -1], dtype=np.int64)),
    "offsets as floats": put(features_offsets=np.array([0.0, 3.0])),
    "a word twice": put(features_offsets=np.array([0, 1, 2], dtype=U64), features_text=text(b"aa")),
    "words too few": put(features_offsets=np.array([0, 1], dtype=U64), features_text=text(b"a")),
    "words not UTF-8": lambda header, tensors: tensors.update(
        features_text=np.where(tensors["features_text"] == ord("h"), 0xFF, tensors["features_text"]).astype(np.uint8)
    ),
    "label not UTF-8": put(labels_text=text(b"D\xffPV")),
    "label twice": put(labels_text=text(b"DDPV")),
    "no label": put(labels_text=text(b""), labels_offsets=np.zeros(1, dtype=U64)),
    "a label more": put(labels_text=text(b"DNPVX"), labels_offsets=np.arange(6, dtype=U64)),
    "many labels more": put(
        labels_text=text(b"".join(b"%05d" % n for n in range(70_000))),
        labels_offsets=np.arange(0, 350_001, 5, dtype=U64),
    ),
    "a weight missing": lambda header, tensors: tensors.update(weights=tensors["weights"][:-1].copy()),
    "a weight more": lambda header, tensors: tensors.update(weights=np.append(tensors["weights"], 0.0)),
    "no weight": put(weights=np.zeros(0)),
    "weights in single precision": lambda header, tensors: tensors.update(weights=tensors["weights"].astype("f4")),
    "weights as integers": lambda header, tensors: tensors.update(weights=tensors["weights"].view(np.int64).copy()),
    "weights of two dimensions": lambda header, tensors: tensors.update(
        weights=tensors["weights"].reshape(-1, 1).copy()
    ),
    "weight NaN": lambda header, tensors: tensors["weights"].__setitem__(3, np.nan),
    "weight infinite": lambda header, tensors: tensors["weights"].__setitem__(3, -np.inf),
    "weights missing": lambda header, tensors: tensors.pop("weights"),
    "words missing": lambda header, tensors: tensors.pop("features_text"),
    "offsets missing": lambda header, tensors: tensors.pop("features_offsets"),
    "labels missing": lambda header, tensors: [tensors.pop(name) for name in ("labels_text", "labels_offsets")],
    "all missing": lambda header, tensors: tensors.clear(),
    "header empty": lambda header, tensors: header.clear(),
    "features unknown": with_header("features", "letters"),
    "features of another kind": with_header("features", "matrix"),
    "features a list": with_header("features", ["words"]),
    "settings a number": with_header("settings", 5),
    "settings missing": lambda header, tensors: header.pop("settings"),
    "start_end missing": lambda header, tensors: header.pop("start_end"),
    "start_end no switch": with_header("start_end", "no"),
    "certificate a number": with_header("certificate", 5),
    "certificate incomplete": with_header("certificate", {"primal": 1.0}),
    "certificate in words": with_header("certificate", {"primal": "a", "dual": "b", "gap": "c", "exact": "d"}),
    "state a number": with_header("state", 5),
    "state incomplete": with_header("state", {"learner": "dcd"}),
    "state with more": with_header("state", {"learner": "dcd", "fingerprint": "", "iteration": 1, "code": "x"}),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_words_and_string_labels(tmp_path, words_model, kind):
    refused(tmp_path, words_model, BROKEN[kind])


BROKEN_NUMBERS = {
    "label twice": put(labels=np.array([3, 5, 5])),
    "labels not sorted": put(labels=np.array([9, 5, 3])),
    "labels as floats": put(labels=np.array([3.5, 5.0, 9.0])),
    "labels of two dimensions": put(labels=np.array([[3], [5], [9]])),
    "label without dimension": put(labels=np.array(3)),
    "no label": put(labels=np.zeros(0, dtype=np.int64)),
    "a label more": put(labels=np.arange(30)),
    "columns too many": put(features_columns=np.array([5], dtype=U64)),
    "columns so many that their product overflows": lambda header, tensors: tensors.update(
        # Rows: one per label, two for the ends, one per column.
        features_columns=np.array([2**64 // (tensors["weights"].size // 9)], dtype=U64),
        weights=np.zeros(tensors["weights"].size // 9 * 5),
    ),
    "more columns than are possible": put(features_columns=np.array([2**63], dtype=U64)),
    "columns negative": put(features_columns=np.array([-4], dtype=np.int64)),
    "columns infinite": put(features_columns=np.array([np.inf])),
    "columns NaN": put(features_columns=np.array([np.nan])),
    "columns a fraction": put(features_columns=np.array([4.5])),
    "columns twice": put(features_columns=np.array([4, 4], dtype=U64)),
    "columns empty": put(features_columns=np.zeros(0, dtype=U64)),
    "columns missing": lambda header, tensors: tensors.pop("features_columns"),
}


@pytest.mark.parametrize("kind", BROKEN_NUMBERS)
def test_columns_and_integer_labels(tmp_path, matrix_model, kind):
    refused(tmp_path, matrix_model, BROKEN_NUMBERS[kind])


def test_header_nested_too_deeply(tmp_path, words_model, monkeypatch):
    header, tensors = words_model
    monkeypatch.setattr("marginloom.io.model.json.dumps", lambda value, **_: "[" * 200_000)
    save_model(tmp_path / "m", "tag", header, tensors)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        SequenceModel.load(tmp_path / "m")


STATES = {
    "duals missing": lambda state: state.pop("duals"),
    "random state missing": lambda state: state.pop("random"),
    "outputs missing": lambda state: state.pop("dual_outputs"),
    "delta missing": lambda state: state.pop("block_threshold"),
    "weights missing": lambda state: state.pop("weights"),
    "all missing": lambda state: state.clear(),
    "dual NaN": lambda state: state["duals"].__setitem__(0, np.nan),
    "dual infinite": lambda state: state["duals"].__setitem__(0, np.inf),
    "dual negative": lambda state: state["duals"].__setitem__(0, -1.0),
    "duals too few": lambda state: state.update(duals=state["duals"][1:].copy()),
    "duals in single precision": lambda state: state.update(duals=state["duals"].astype("f4")),
    "duals of two dimensions": lambda state: state.update(duals=state["duals"].reshape(1, -1).copy()),
    "example not there": lambda state: state["dual_examples"].__setitem__(0, 3),
    "example far away": lambda state: state["dual_examples"].__setitem__(0, 2**63),
    "examples signed": lambda state: state.update(dual_examples=state["dual_examples"].astype(np.int64)),
    "example of another length": lambda state: state["dual_examples"].__setitem__(0, 1),
    "offsets descend": lambda state: state["dual_output_offsets"].__setitem__(1, 2**40),
    "offsets beyond the outputs": lambda state: state["dual_output_offsets"].__setitem__(-1, 2**63),
    "offsets too few": lambda state: state.update(dual_output_offsets=state["dual_output_offsets"][:-1].copy()),
    "label not there": lambda state: state["dual_outputs"].__setitem__(0, 4),
    "label far away": lambda state: state["dual_outputs"].__setitem__(0, 255),
    "outputs cut off": lambda state: state.update(dual_outputs=state["dual_outputs"][:-1].copy()),
    "outputs as words": lambda state: state.update(dual_outputs=state["dual_outputs"].astype(U64)),
    "output twice": lambda state: state.update(
        dual_examples=np.array([1, 1], dtype=U64),
        duals=np.ones(2),
        dual_output_offsets=np.array([0, 2, 4], dtype=U64),
        dual_outputs=np.zeros(4, dtype=np.uint8),
    ),
    "delta NaN": lambda state: state.update(block_threshold=np.array([np.nan])),
    "delta negative": lambda state: state.update(block_threshold=np.array([-1.0])),
    "two deltas": lambda state: state.update(block_threshold=np.array([0.1, 0.1])),
    "two random states": lambda state: state.update(random=np.array([1, 2], dtype=U64)),
    "no random state": lambda state: state.update(random=np.zeros(0, dtype=U64)),
    "random state a float": lambda state: state.update(random=np.array([1.0])),
}


def change_state(tensors, change):
    state = {name.removeprefix("state."): tensors.pop(name) for name in list(tensors) if name.startswith("state.")}
    change(state)
    tensors.update({f"state.{name}": array for name, array in state.items()})


def warm_started(path, algorithm="dcd-ssvm"):
    tagger = SequenceTagger(algorithm, features="words", max_iter=5, warm_start=True)
    tagger.tagger_ = SequenceModel.load(path)
    return tagger.fit(WORDS, TAGS)


def test_good_state_continues(tmp_path, words_model):
    save_model(tmp_path / "m", "tag", *words_model)
    assert warm_started(tmp_path / "m").certificate_.gap <= 0.01


@pytest.mark.parametrize("kind", STATES)
def test_broken_state_is_an_error_when_it_is_used(tmp_path, words_model, kind):
    header, tensors = words_model
    change_state(tensors, STATES[kind])
    save_model(tmp_path / "m", "tag", header, tensors)
    with pytest.raises((InputError, ModelFileError)):
        warm_started(tmp_path / "m")


def test_output_that_is_the_right_one_does_no_harm(tmp_path, words_model):
    """Its loss and difference are 0, so it must end as a certified optimum or as an error."""
    header, tensors = words_model
    gold = np.array([0, 1, 3], dtype=np.uint8)
    change_state(
        tensors,
        lambda state: state.update(
            dual_examples=np.zeros(1, dtype=U64), duals=np.ones(1),
            dual_output_offsets=np.array([0, 3], dtype=U64), dual_outputs=gold,
        ),
    )  # fmt: skip
    save_model(tmp_path / "m", "tag", header, tensors)
    cold = SequenceTagger(features="words").fit(WORDS, TAGS)
    try:
        warm = warm_started(tmp_path / "m")
    except InputError:
        return
    assert warm.certificate_.dual <= cold.certificate_.primal
    assert cold.certificate_.dual <= warm.certificate_.primal


def test_saved_weights_that_contradict_the_duals_do_not_count(tmp_path, words_model):
    header, tensors = words_model
    for bad in (np.nan, np.inf, 1e6):
        change_state(tensors, lambda state, bad=bad: state["weights"].fill(bad))
        save_model(tmp_path / "m", "tag", header, tensors)
        warm = warm_started(tmp_path / "m")
        assert warm.certificate_.gap <= 0.01
        assert np.abs(warm.tagger_.weights).max() < 10


PERCEPTRON_STATES = {
    "weights NaN": lambda state: state["weights"].__setitem__(0, np.nan),
    "weights too few": lambda state: state.update(weights=state["weights"][:-1].copy()),
    "sums NaN": lambda state: state["average_late"].__setitem__(0, np.nan),
    "sums infinite": lambda state: state["average_late"].__setitem__(0, np.inf),
    "sums too few": lambda state: state.update(average_late=state["average_late"][:-1].copy()),
    "sums missing": lambda state: state.pop("average_late"),
    "two clocks": lambda state: state.update(average_ticks=np.array([1, 2], dtype=U64)),
    "clock missing": lambda state: state.pop("average_ticks"),
}


@pytest.mark.parametrize("kind", PERCEPTRON_STATES)
def test_broken_state_of_the_perceptron(tmp_path, kind):
    tagger = SequenceTagger("averaged-perceptron", features="words", max_iter=2, warm_start=True).fit(WORDS, TAGS)
    tagger.save(tmp_path / "m")
    header, tensors = load_model(tmp_path / "m", "tag")
    change_state(tensors, PERCEPTRON_STATES[kind])
    save_model(tmp_path / "m", "tag", header, tensors)
    with pytest.raises((InputError, ModelFileError)):
        warm_started(tmp_path / "m", "averaged-perceptron")


SETTINGS = {
    "column in words": {"label_column": "two"},
    "column 0": {"label_column": 0},
    "column negative": {"label_column": -3},
    "column null": {"label_column": None},
    "format unknown": {"format": "xml"},
    "format a number": {"format": 5},
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_broken_settings_are_told_by_the_program(tmp_path, kind):
    write_conll(tmp_path / "t.conll", WORDS, TAGS)
    run("train", "tag", tmp_path / "t.conll", "--model", tmp_path / "m")
    header, tensors = load_model(tmp_path / "m", "tag")
    header["settings"].update(SETTINGS[kind])
    save_model(tmp_path / "m", "tag", header, tensors)
    for command in (["predict", tmp_path / "m", "-"], ["evaluate", tmp_path / "m", tmp_path / "t.conll"]):
        if command[0] == "evaluate" and kind.startswith("format"):
            continue
        assert str(tmp_path / "m") in fails(*command, stdin=b"the\n")


def test_words_that_are_not_text_do_not_break_inspection(tmp_path, words_model):
    header, tensors = words_model
    tensors["features_text"] = np.where(tensors["features_text"] == ord("h"), 0xFF, tensors["features_text"]).astype(
        "u1"
    )
    save_model(tmp_path / "m", "tag", header, tensors)
    said = fails("inspect", tmp_path / "m")
    assert str(tmp_path / "m") in said
