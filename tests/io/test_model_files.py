"""A model file reloads to the same bits; one that is damaged in any way is an error, never a crash or another model."""

import json
import math
import mmap
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from scipy import sparse

from marginloom import InputError, ModelFileError, SequenceTagger, make_tagging
from marginloom.io import files
from marginloom.io.model import FORMAT_VERSION, load_model, save_model
from marginloom.tasks.sequence.model import SequenceModel

WORDS, TAGS = make_tagging(25, seed=0)
DEV, _ = make_tagging(40, seed=1)
MATRIX = np.round(np.random.default_rng(0).normal(size=(30, 4)), 1)
LENGTHS = [10, 20]


def words_tagger(**parameters):
    return SequenceTagger(**{"features": "words", "max_iter": 3, **parameters}).fit(WORDS, TAGS)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a small model with its state."""
    path = tmp_path_factory.mktemp("model") / "m"
    SequenceTagger(features="words", max_iter=2, warm_start=True).fit(WORDS[:3], TAGS[:3]).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def header_size(content):
    return 8 + int.from_bytes(content[:8], "little")


def parts(path):
    """Everything that a model consists of, comparable."""
    header, tensors = load_model(path, "tag")
    arrays = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in tensors.items()}
    return json.dumps(header, sort_keys=True), arrays


def is_refused_or_equal(path, expected):
    """Load a damaged file: an error that names it, or, where the damage has no meaning, the very same model."""
    try:
        tagger = SequenceModel.load(path)
    except ModelFileError as error:
        assert str(path) in str(error)  # noqa: PT017
        return
    assert parts(path) == expected
    assert tagger.labels.names


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
@pytest.mark.parametrize("start_end", [False, True])
def test_words_reload_to_the_same_bits(tmp_path, algorithm, start_end):
    tagger = words_tagger(algorithm=algorithm, start_end=start_end)
    tagger.save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.tagger_.weights.tobytes() == tagger.tagger_.weights.tobytes()
    assert loaded.predict(DEV) == tagger.predict(DEV)
    assert loaded.classes_ == tagger.classes_
    assert loaded.certificate_ == tagger.certificate_
    assert loaded.tagger_.settings == tagger.tagger_.settings
    assert loaded.tagger_.strongest(50) == tagger.tagger_.strongest(50)


FITTED = {
    "named": lambda: (SequenceTagger(), [[{"a": 1.5, "b": "x"}, ["c", "a"]]], [["P", "Q"]], None),
    "dense": lambda: (SequenceTagger(), MATRIX, np.arange(30) % 3 - 1, LENGTHS),
    "csr": lambda: (SequenceTagger(), sparse.csr_array(MATRIX), np.arange(30) % 3 * 10**12, LENGTHS),
    "unicode": lambda: (SequenceTagger(features="words"), [["é", "", "日本"]], [["ß", "🙂", "x"]], None),
    "one label": lambda: (SequenceTagger(), np.eye(2), ["only", "only"], [2]),
    "one feature": lambda: (SequenceTagger(min_count=2, features="words"), [["a", "b", "a"]], [["P", "Q", "P"]], None),
}


@pytest.mark.parametrize("kind", FITTED)
def test_other_features_and_labels_reload_to_the_same_bits(tmp_path, kind):
    tagger, X, y, lengths = FITTED[kind]()
    tagger.fit(X, y, lengths=lengths).save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.tagger_.weights.tobytes() == tagger.tagger_.weights.tobytes()
    assert np.array_equal(loaded.predict(X, lengths), tagger.predict(X, lengths))
    assert [type(label) for label in loaded.classes_] == [type(label) for label in tagger.classes_]
    assert loaded.classes_ == tagger.classes_


def test_state_reloads_to_the_same_bits(tmp_path):
    tagger = words_tagger(warm_start=True).tagger_
    tagger.save(tmp_path / "m")
    loaded = SequenceModel.load(tmp_path / "m")
    assert (loaded.state.learner, loaded.state.fingerprint) == (tagger.state.learner, tagger.state.fingerprint)
    assert loaded.state.iteration == tagger.state.iteration == 3
    assert loaded.state.arrays.keys() == tagger.state.arrays.keys()
    for name, array in tagger.state.arrays.items():
        assert array.dtype == loaded.state.arrays[name].dtype
        assert array.tobytes() == loaded.state.arrays[name].tobytes()


def test_saving_what_was_loaded_gives_the_same_file(tmp_path):
    words_tagger(warm_start=True).save(tmp_path / "one")
    SequenceModel.load(tmp_path / "one").save(tmp_path / "two")
    assert parts(tmp_path / "one") == parts(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_loaded_weights_survive_the_file_being_replaced_or_removed(tmp_path):
    """The file is mapped, so this holds for renaming, which is how models are written, and for removal."""
    words_tagger().save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    expected = loaded.predict(DEV)
    words_tagger(C=7.0).save(tmp_path / "m")
    assert loaded.predict(DEV) == expected
    (tmp_path / "m").unlink()
    assert loaded.predict(DEV) == expected


def test_weights_are_mapped_and_not_copied(tmp_path):
    words_tagger().save(tmp_path / "m")
    base = SequenceTagger.load(tmp_path / "m").tagger_.weights
    while getattr(base, "base", None) is not None:
        base = base.base
    assert isinstance(base, mmap.mmap)


def test_file_cut_off_at_any_place_is_refused(tmp_path, content, header_size):
    places = [*range(0, header_size, 7), *range(header_size, len(content), 101), len(content) - 1]
    assert len(places) > 200
    for place in places:
        (tmp_path / "m").write_bytes(content[:place])
        with pytest.raises(ModelFileError) as caught:
            SequenceModel.load(tmp_path / "m")
        assert str(tmp_path / "m") in str(caught.value)


def test_file_with_more_at_the_end_is_refused(tmp_path, content):
    for extra in (b"\0", b"x" * 8, content):
        (tmp_path / "m").write_bytes(content + extra)
        with pytest.raises(ModelFileError):
            SequenceModel.load(tmp_path / "m")


def test_flipped_bit_anywhere_in_the_data_is_found(tmp_path, content, header_size):
    rng = np.random.default_rng(1)
    for place in rng.integers(header_size, len(content), 400).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "m").write_bytes(damaged)
        with pytest.raises(ModelFileError, match="damaged"):
            SequenceModel.load(tmp_path / "m")


def test_flipped_bit_anywhere_in_the_header_is_found_or_has_no_meaning(tmp_path, content, header_size):
    (tmp_path / "m").write_bytes(content)
    expected = parts(tmp_path / "m")
    rng = np.random.default_rng(2)
    for place in range(header_size):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "m").write_bytes(damaged)
        is_refused_or_equal(tmp_path / "m", expected)


def test_changed_digit_in_the_certificate_or_the_settings_is_found(tmp_path, content):
    """What a bad disk makes of a certificate must not be shown as one."""
    for name in ("gap", "C", "primal", "iterations"):
        place = re.search(rf'{name}\\*": ([0-9])'.encode(), content).start(1)
        damaged = bytearray(content)
        damaged[place] ^= 1
        (tmp_path / "m").write_bytes(damaged)
        with pytest.raises(ModelFileError):
            SequenceModel.load(tmp_path / "m")


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_an_error_or_has_no_meaning(tmp_path, content, data):
    (tmp_path / "m").write_bytes(content)
    expected = parts(tmp_path / "m")
    place = data.draw(st.integers(0, len(content) - 1))
    size = data.draw(st.integers(0, 40))
    new = data.draw(st.binary(max_size=40))
    (tmp_path / "m").write_bytes(content[:place] + new + content[place + size :])
    is_refused_or_equal(tmp_path / "m", expected)


@given(garbage=st.binary(max_size=300))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_refused(tmp_path, garbage):
    (tmp_path / "m").write_bytes(garbage)
    with pytest.raises(ModelFileError, match="not a model file"):
        SequenceModel.load(tmp_path / "m")


@pytest.mark.parametrize("start", [0, 1, 2**20, 2**62, 2**64 - 1])
def test_header_of_absurd_size_is_refused(tmp_path, start):
    (tmp_path / "m").write_bytes(start.to_bytes(8, "little") + b'{"a": 1}' * 100)
    with pytest.raises(ModelFileError):
        SequenceModel.load(tmp_path / "m")


def test_empty_file(tmp_path):
    (tmp_path / "m").write_bytes(b"")
    with pytest.raises(ModelFileError, match="not a model file"):
        SequenceModel.load(tmp_path / "m")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(ModelFileError, match="no such file"):
        SequenceTagger.load(tmp_path / "gone")
    with pytest.raises(ModelFileError, match="folder"):
        SequenceTagger.load(tmp_path)


def test_foreign_safetensors_file(tmp_path):
    save_file({"weights": np.zeros(3)}, tmp_path / "m")
    with pytest.raises(ModelFileError, match="not a marginloom model"):
        SequenceModel.load(tmp_path / "m")
    save_file({"weights": np.zeros(3)}, tmp_path / "m", {"format": "pt"})
    with pytest.raises(ModelFileError, match="not a marginloom model"):
        SequenceModel.load(tmp_path / "m")


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, FORMAT_VERSION + 1000])
def test_newer_version_is_named(tmp_path, monkeypatch, version):
    monkeypatch.setattr("marginloom.io.model.FORMAT_VERSION", version)
    save_model(tmp_path / "m", "tag", {}, {})
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=f"version {version}.*newer marginloom"):
        SequenceModel.load(tmp_path / "m")


@pytest.mark.parametrize("version", ["", "one", "-1", "1.5", "²", "0"])
def test_version_that_is_none(tmp_path, monkeypatch, version):
    monkeypatch.setattr("marginloom.io.model.FORMAT_VERSION", version)
    save_model(tmp_path / "m", "tag", {}, {})
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        SequenceModel.load(tmp_path / "m")


def test_model_of_another_task(tmp_path):
    save_model(tmp_path / "m", "parse", {}, {"weights": np.zeros(2)})
    with pytest.raises(ModelFileError, match="task 'parse', expected 'tag'"):
        SequenceTagger.load(tmp_path / "m")


def test_loading_runs_no_code(tmp_path):
    """A pickle under a model's name is garbage like any other."""
    import pickle

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "trapped"),))

    (tmp_path / "m").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError):
        SequenceTagger.load(tmp_path / "m")
    assert names_in(tmp_path) == ["m"]


@pytest.mark.parametrize("failure", [OSError("disk"), KeyboardInterrupt(), MemoryError(), SystemExit(3)])
@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_failure_while_writing_leaves_the_old_file(tmp_path, monkeypatch, failure, place):
    old = words_tagger()
    old.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def fail(*_):
        raise failure

    if place == "fsync":
        monkeypatch.setattr(files.os, "fsync", fail)
    else:
        monkeypatch.setattr(files.Path, "replace", fail)
    with pytest.raises(BaseException) as caught:
        words_tagger(C=5.0).save(tmp_path / "m")
    assert not isinstance(caught.value, AssertionError)
    monkeypatch.undo()
    assert (tmp_path / "m").read_bytes() == before
    assert names_in(tmp_path) == ["m"]
    assert SequenceTagger.load(tmp_path / "m").predict(DEV) == old.predict(DEV)


def test_failure_while_writing_leaves_no_file_where_there_was_none(tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    tagger = words_tagger()
    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        tagger.save(tmp_path / "m")
    assert names_in(tmp_path) == []


def test_process_killed_while_writing_leaves_the_old_file(tmp_path):
    old = words_tagger()
    old.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    script = """
import os, signal, sys
from marginloom import SequenceTagger
tagger = SequenceTagger(features="words").fit([["a", "b"]], [["P", "Q"]])
os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)
tagger.save(sys.argv[1])
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "m"], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "m").read_bytes() == before


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        words_tagger().save(tmp_path / "no" / "m")


def test_metadata_is_json_that_others_can_read(tmp_path):
    """No NaN or Infinity, which JSON does not have."""
    from safetensors import safe_open

    tagger = words_tagger()
    tagger.save(tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        texts = [text for text in file.metadata().values() if text.startswith("{")]
        assert math.isfinite(float(file.get_tensor("weights").sum()))
    assert texts
    for text in texts:
        json.loads(text, parse_constant=lambda name: pytest.fail(name))


@pytest.mark.parametrize("value", ["caf\udce9", ["\ud800"], {"\udfff": 1}, {"a": {1, 2}}, float])
def test_what_could_not_be_read_again_is_refused_before_the_old_model_is_touched(tmp_path, value):
    path = tmp_path / "m"
    path.write_bytes(b"the old one")
    with pytest.raises(InputError, match="this cannot be written such that it is read again"):
        save_model(path, "tag", {"name": value}, {"weights": np.zeros(2)})
    assert path.read_bytes() == b"the old one"
    assert [file.name for file in tmp_path.iterdir()] == ["m"]


def test_header_that_is_nested_too_deeply_to_be_read_is_refused(tmp_path):
    nested = []
    for _ in range(50):
        nested = [nested]
    with pytest.raises(InputError, match="lists within lists"):
        save_model(tmp_path / "m", "tag", {"name": nested}, {})
    save_model(tmp_path / "m", "tag", {"name": [("é", None)]}, {})
    assert load_model(tmp_path / "m", "tag")[0] == {"name": [["é", None]]}
