"""Labels come back as they went in: any whole number of 64 bits and any string, in every estimator and its files."""

import enum
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from marginloom import (
    InputError,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    SequenceTagger,
    read_detections,
    write_detections,
)
from marginloom.labels.arrays import label_array, plain_labels
from marginloom.labels.label_set import UNSEEN, LabelSet
from marginloom.labels.numbered import NumberedLabels

LARGE = 2**63 + 5
LABELS = {
    "far apart": [2**62 + 1, -(2**62) - 1],
    "beyond double precision": [2**53, 2**53 + 1],
    "the 64th bit": [LARGE, LARGE + 1],
    "the 64th bit and not": [LARGE, 1],
    "the 64th bit and negative": [LARGE, -1],
    "all of 64 bits": [-(2**63), 2**64 - 1, 2**63 - 1, 2**63, 0],
    "NULs at the end": ["a", "a\0", "a\0\0", "\0"],
    "any text": ["", " ", "b\0a", "naïve", "🙂", "a,b:c#", "line\nend"],
}
every_label = pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())


def exactly(labels):
    """Return labels with their plain types, which == alone does not compare."""
    return [(str if isinstance(label, str) else int if type(label) is int else type(label), label) for label in labels]


def one_each(labels):
    """Return an example for each label, which all classifiers learn."""
    return np.eye(len(labels))


@every_label
def test_classes_come_back(labels, tmp_path):
    X = one_each(labels)
    classifier = MulticlassClassifier(C=10).fit(X, labels, eval_set=(X, labels))
    classifier.save(tmp_path / "m")
    for found in (classifier, MulticlassClassifier.load(tmp_path / "m"), pickle.loads(pickle.dumps(classifier))):
        assert exactly(found.classes_.tolist()) == exactly(sorted(labels))
        assert exactly(found.predict(X).tolist()) == exactly(labels)
        assert exactly([best[0][0] for best in found.predict_k_best(X, k=1)]) == exactly(labels)
        assert found.score(X, labels) == 1
        assert found.evaluate(X, labels)["accuracy"] == 1
        assert set(found.evaluate(X, labels)["per_label"]) == {str(label) for label in labels}


@every_label
def test_sets_of_labels_come_back(labels, tmp_path):
    X, y = one_each(labels), [[label] for label in labels]
    classifier = MultilabelClassifier(C=100).fit(X, y, eval_set=(X, y))
    classifier.save(tmp_path / "m")
    for found in (classifier, MultilabelClassifier.load(tmp_path / "m"), pickle.loads(pickle.dumps(classifier))):
        assert exactly(found.classes_.tolist()) == exactly(sorted(labels))
        assert [exactly(members) for members in found.predict(X)] == [exactly(members) for members in y]
        assert found.score(X, y) == 1


@every_label
def test_labels_of_tokens_come_back(labels, tmp_path):
    X = one_each(labels)
    tagger = SequenceTagger(C=100).fit([X], [labels], eval_set=([X], [labels]))
    tagger.save(tmp_path / "m")
    for found in (tagger, SequenceTagger.load(tmp_path / "m"), pickle.loads(pickle.dumps(tagger))):
        assert exactly(found.classes_) == exactly(sorted(labels))
        assert exactly(found.predict([X])[0]) == exactly(labels)
        assert exactly(found.predict(X, lengths=[len(labels)]).tolist()) == exactly(labels)
        assert exactly(found.predict_k_best([X], k=1)[0][0][0]) == exactly(labels)
        assert found.score([X], [labels]) == 1


@every_label
def test_labels_of_objects_come_back(labels, tmp_path):
    images = np.zeros((len(labels), 2, 2 * len(labels)))
    for place in range(len(labels)):
        images[place, :, 2 * place : 2 * place + 2] = 1 + place
    y = [(label, (0, 0, 2, 2 * len(labels))) for label in labels]
    detector = ObjectDetector(C=100).fit(images, y)
    detector.save(tmp_path / "m")
    loaded = ObjectDetector.load(tmp_path / "m")
    assert exactly(loaded.classes_) == exactly(sorted(labels))
    assert exactly([label for label, _ in loaded.predict(images)]) == exactly(labels)


whole_numbers = st.lists(st.integers(-(2**63), 2**64 - 1), min_size=2, unique=True, max_size=8)
strings = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]) | st.just("\0")), min_size=2, unique=True, max_size=8
)


@settings(max_examples=100, deadline=None)
@given(whole_numbers | strings, st.data())
def test_sets_of_labels_encode_decode_and_are_stored_without_loss(names, data):
    flat = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=20))
    labels, numbers = LabelSet.learn(flat)
    for same in (labels, LabelSet.load(labels.tensors())):
        assert exactly(same.names) == exactly(sorted(set(flat)))
        assert exactly(same.decode(numbers).tolist()) == exactly(flat)
        assert same.encode(flat).tolist() == numbers.tolist()
        known = set(flat)
        assert [number == UNSEEN for number in same.encode(names)] == [name not in known for name in names]
        assert [same.find(name) for name in same.names] == list(range(len(same.names)))


@settings(max_examples=25, deadline=None)
@given(whole_numbers | strings)
def test_any_classes_come_back_from_a_file(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("labels") / "m"
    MulticlassClassifier(C=10).fit(one_each(names), names).save(path)
    assert exactly(MulticlassClassifier.load(path).predict(one_each(names)).tolist()) == exactly(names)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, LARGE], dtype=np.uint64),
        np.array([-1, 1], dtype=np.int8),
        np.array([LARGE, -1], dtype=object),
        np.array(["a", "a\0"], dtype=object),
        [np.int64(-5), np.uint64(LARGE)],
        np.array([True, False]),
        np.array([1.0, 2.0**60]),
    ],
    ids=repr,
)
def test_arrays_and_numbers_of_numpy_are_labels_too(labels, tmp_path):
    classifier = MulticlassClassifier(C=10).fit(np.eye(2), labels)
    assert classifier.classes_.tolist() == sorted(np.asarray(labels, dtype=object).tolist())
    assert classifier.predict(np.eye(2)).tolist() == list(labels)
    if isinstance(labels, np.ndarray):
        assert classifier.classes_.dtype == labels.dtype
    assert classifier.score(np.eye(2), labels) == 1
    classifier.save(tmp_path / "m")
    loaded = MulticlassClassifier.load(tmp_path / "m")
    assert loaded.predict(np.eye(2)).tolist() == list(labels)
    assert loaded.score(np.eye(2), labels) == 1


def test_classes_have_the_type_of_numpy_where_it_loses_nothing():
    kinds = {(1, 2): "i", (1, LARGE): "u", (-1, LARGE): "O", ("a", "b"): "U", ("a", "a\0"): "O", (True, False): "b"}
    for labels, kind in kinds.items():
        assert MulticlassClassifier(C=10).fit(np.eye(2), list(labels)).classes_.dtype.kind == kind


def test_members_of_an_enumeration_are_what_they_stand_for():
    class Colour(str, enum.Enum):  # noqa: UP042
        RED = "red"
        BLUE = "blue"

    assert MulticlassClassifier(C=10).fit(np.eye(2), list(Colour)).predict(np.eye(2)).tolist() == ["red", "blue"]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([1, "a"], "whole numbers such as 1 and strings such as 'a'"),
        (["a", 1], "strings such as 'a' and whole numbers such as 1"),
        ([True, 2], "truth values such as True and whole numbers such as 2"),
        ([1, 2.0], "whole numbers such as 1 and floats such as 2.0"),
        (np.array([1, "a"], dtype=object), "whole numbers such as 1 and strings such as 'a'"),
        (["a", None], "not None"),
        (["a", b"b"], "not b'b'"),
        ([1, 2**64], "the label 18446744073709551616 has more than 64 bits"),
        ([1, -(2**63) - 1], "the label -9223372036854775809 has more than 64 bits"),
        (["a", "\ud800"], "no text that UTF-8 can hold"),
    ],
    ids=repr,
)
def test_labels_of_mixed_types_or_beyond_64_bits_are_refused(labels, said):
    fits = (
        lambda: MulticlassClassifier().fit(np.eye(2), labels),
        lambda: MultilabelClassifier().fit(np.eye(2), [[label] for label in labels]),
        lambda: SequenceTagger().fit([np.eye(2)], [labels]),
        lambda: ObjectDetector().fit(np.ones((2, 2, 2)), [(label, (0, 0, 2, 2)) for label in labels]),
    )
    for fit in fits:
        with pytest.raises(InputError) as error:
            fit()
        assert said in str(error.value)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # where scikit-learn splits
@pytest.mark.parametrize("labels", [[LARGE, -1], ["a", "a\0"]], ids=repr)
def test_scikit_learn_searches_over_classes_that_numpy_does_not_hold(labels):
    X, y = np.tile(np.eye(2), (6, 1)), labels * 6
    for given_as in (y, np.array(y, dtype=object)):
        search = GridSearchCV(MulticlassClassifier(), {"C": [0.1, 10.0]}, cv=3).fit(X, given_as)
        assert search.best_score_ == 1
        assert search.predict(np.eye(2)).tolist() == labels
        assert clone(search.best_estimator_).fit(X, given_as).score(X, given_as, sample_weight=np.ones(12)) == 1


@pytest.mark.parametrize("labels", [[LARGE, -1], ["a", "a\0"]], ids=repr)
def test_weights_and_costs_are_given_by_such_classes_and_saved(labels, tmp_path):
    weights, costs = {labels[0]: 2.0}, {(labels[0], labels[1]): 3.0}
    MulticlassClassifier(class_weight=weights, cost_matrix=costs).fit(np.eye(2), labels).save(tmp_path / "m")
    assert MulticlassClassifier.load(tmp_path / "m").class_weight == weights


def test_settings_that_name_labels_by_numbers_of_numpy_are_saved(tmp_path):
    low, high = np.int64(-1), np.uint64(LARGE)
    MultilabelClassifier(interactions=[(low, high)]).fit(np.eye(2), [[low], [high]]).save(tmp_path / "m")
    assert MultilabelClassifier.load(tmp_path / "m").interactions == [(-1, LARGE)]
    constraints = [("<s>", low), (low, high)]
    SequenceTagger(constraints=constraints).fit([np.eye(2)], [[high, low]]).save(tmp_path / "t")
    assert [tuple(pair) for pair in SequenceTagger.load(tmp_path / "t").constraints] == [("<s>", -1), (-1, LARGE)]


def test_neighbours_beyond_double_precision_are_other_classes():
    classifier = MulticlassClassifier(C=10).fit(np.eye(2), [2**53, -(2**53)])
    assert classifier.score(np.eye(2), [2**53 + 1, -(2**53)]) == 0.5
    with pytest.raises(InputError, match="did not see: 9007199254740993;"):
        classifier.evaluate(np.eye(2), [2**53 + 1, -(2**53)])
    with pytest.raises(InputError, match="is not a label"):
        MulticlassClassifier(class_weight={np.float64(2**53): 2.0}).fit(np.eye(2), [2**53 + 1, 1])


def test_labels_that_an_archive_of_images_cannot_hold_are_refused(tmp_path):
    boxes = [(0, 0, 1, 1)] * 2
    write_detections(tmp_path / "f", np.ones((2, 2, 2)), [1, LARGE], boxes)
    assert read_detections(tmp_path / "f").labels.tolist() == [1, LARGE]
    for labels in ([-1, LARGE], ["a", "a\0"]):
        with pytest.raises(InputError, match="archive cannot hold"):
            write_detections(tmp_path / "g", np.ones((2, 2, 2)), labels, boxes)


@pytest.mark.parametrize("of", [label_array, plain_labels, NumberedLabels.of])
def test_characters_that_there_are_not_are_an_error(of):
    damaged = np.array([0x61, 0x180000], dtype="<u4").view("<U2")
    with pytest.raises(InputError, match="character number 1,572,864"):
        of(damaged)
    of(np.array([0x61, sys.maxunicode], dtype="<u4").view("<U2"))
