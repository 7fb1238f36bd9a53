"""The estimator for object detection."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from marginloom import ObjectDetector, SequenceTagger, make_digit_detection
from marginloom.errors import InputError, ModelFileError
from marginloom.tasks.detection.boxes import intersection_over_union

TRAIN = make_digit_detection(400, seed=0)
TEST = make_digit_detection(100, seed=1)


@pytest.fixture(scope="module")
def detector():
    return ObjectDetector(C=0.1, max_iter=10).fit(TRAIN.images, TRAIN.targets)


def test_digits_are_found_where_they_are(detector):
    assert detector.score(TEST.images, TEST.targets) > 0.8
    scores = detector.evaluate(TEST.images, TEST.targets)
    found = detector.predict(TEST.images)
    overlap = intersection_over_union([box for _, box in TEST.targets], [box for _, box in found])
    right = [a[0] == b[0] for a, b in zip(found, TEST.targets, strict=True)]
    assert scores == {
        "detection_accuracy": pytest.approx(np.mean(np.array(right) & (overlap > 0.5))),
        "mean_iou": pytest.approx(overlap.mean()),
    }


def test_k_best_detections_descend_and_those_of_a_label_lie_apart(detector):
    for best, detections in zip(detector.predict(TEST.images), detector.predict_k_best(TEST.images, k=8), strict=True):
        assert detections[0][0] == best
        scores = [score for _, score in detections]
        assert scores == sorted(scores, reverse=True)
        for j, ((label, box), _) in enumerate(detections):
            for (other_label, other), _ in detections[:j]:
                assert label != other_label or intersection_over_union(box, [other])[0] <= 0.5


def test_saving_loading_and_pickling_keep_everything(detector, tmp_path):
    detector.save(tmp_path / "model")
    for copy in (ObjectDetector.load(tmp_path / "model"), pickle.loads(pickle.dumps(detector))):
        assert copy.predict(TEST.images) == detector.predict(TEST.images)
        assert copy.certificate_ == detector.certificate_
        assert copy.classes_ == detector.classes_ == list(range(10))
        assert copy.window_sizes_ == [(8, 8)]
    with pytest.raises(ModelFileError, match="task 'detect'"):
        SequenceTagger.load(tmp_path / "model")


def test_coef_are_the_templates_that_score_windows(detector):
    (templates,) = detector.coef_
    assert templates.shape == (10, 8, 8, 1)
    (((label, (top, left, _, _)), score),) = detector.predict_k_best(TEST.images[:1], k=1)[0]
    window = TEST.images[0, top : top + 8, left : left + 8]
    assert (templates[label, :, :, 0] * window).sum() == pytest.approx(score)


def test_the_same_seed_gives_the_same_bits(detector):
    again = clone(detector).fit(TRAIN.images, TRAIN.targets)
    assert np.array_equal(again.model_.weights, detector.model_.weights)


def test_labels_may_be_strings_and_images_have_channels_and_several_sizes():
    random = np.random.default_rng(0)
    images, targets = [], []
    for i in range(60):
        image = random.normal(scale=0.1, size=(14 + i % 3, 16, 3))
        label, (height, width) = [("tall", (7, 3)), ("wide", (3, 7))][i % 2]
        top = int(random.integers(image.shape[0] - height + 1))
        left = int(random.integers(image.shape[1] - width + 1))
        image[top : top + height, left : left + width, i % 2] += 1
        images.append(image)
        targets.append((label, (top, left, height, width)))
    detector = ObjectDetector(C=1.0, fit_intercept=True, n_threads=2).fit(
        images[:40], targets[:40], eval_set=(images[40:], targets[40:])
    )
    assert detector.window_sizes_ == [(3, 7), (7, 3)]
    assert [block.shape for block in detector.coef_] == [(2, 3, 7, 3), (2, 7, 3, 3)]
    assert detector.score(images[40:], targets[40:]) > 0.9
    assert detector.history_[-1]["scores"]["dev"]["detection_accuracy"] > 0.9


def test_maps_of_features_have_boxes_in_pixels():
    maps = TRAIN.images.repeat(2, axis=1).repeat(2, axis=2)[:, ::2, ::2, None]
    targets = [(label, tuple(4 * side for side in box)) for label, box in TRAIN.targets]
    plain = ObjectDetector(max_iter=3).fit(TRAIN.images, TRAIN.targets)
    coarse = ObjectDetector(max_iter=3, stride=4).fit(maps, targets)
    assert np.array_equal(coarse.model_.weights, plain.model_.weights)
    assert coarse.window_sizes_ == [(32, 32)]
    expected = [(label, tuple(4 * side for side in box)) for label, box in plain.predict(TEST.images)]
    assert coarse.predict(TEST.images) == expected


def test_a_loss_of_the_users_own_replaces_the_built_in_one():
    def only_the_label(right, _box, label, boxes):
        return np.full(len(boxes), float(right != label))

    own = ObjectDetector(max_iter=3, box_loss=only_the_label).fit(TRAIN.images, TRAIN.targets)
    built_in = ObjectDetector(max_iter=3).fit(TRAIN.images, TRAIN.targets)
    assert not np.array_equal(own.model_.weights, built_in.model_.weights)

    def by_hand(right, box, label, boxes):
        return 1 - (right == label) * intersection_over_union(box, boxes)

    same = ObjectDetector(max_iter=3, box_loss=by_hand).fit(TRAIN.images, TRAIN.targets)
    assert np.array_equal(same.model_.weights, built_in.model_.weights)


def test_a_loaded_model_with_a_loss_of_the_users_own_does_not_train_with_another(tmp_path):
    own = ObjectDetector(max_iter=1, box_loss=lambda r, b, c, boxes: np.full(len(boxes), float(r != c)))
    own.fit(TRAIN.images, TRAIN.targets).save(tmp_path / "model")
    with pytest.raises(InputError, match="box_loss is 'function'"):
        ObjectDetector.load(tmp_path / "model").fit(TRAIN.images, TRAIN.targets)


def test_warm_start_goes_on_where_the_last_fit_ended():
    detector = ObjectDetector(max_iter=5, warm_start=True).fit(TRAIN.images, TRAIN.targets)
    first = detector.certificate_.gap
    assert detector.fit(TRAIN.images, TRAIN.targets).certificate_.gap < first


BOX = (0, 0, 2, 2)
IMAGES = np.ones((2, 4, 4))
NOT_A_NUMBER = np.where(np.eye(4) > 0, np.nan, 1.0)
BAD = {
    "image smaller than the window": (
        [np.ones((4, 4)), np.ones((1, 4))],
        [("a", BOX), ("b", (0, 0, 1, 1))],
        {"window_sizes": [(2, 2)]},
        "image 1 has 1 x 4 pixels",
    ),
    "box outside": (IMAGES, [("a", BOX), ("b", (3, 0, 2, 2))], {}, r"box \(3, 0, 2, 2\) of image 1 is not inside"),
    "negative box": (IMAGES, [("a", (-1, 0, 2, 2)), ("b", BOX)], {}, "not inside"),
    "empty box": (IMAGES, [("a", (0, 0, 0, 2)), ("b", BOX)], {}, "not inside"),
    "box of three": (IMAGES, [("a", (0, 0, 2)), ("b", BOX)], {}, "whole numbers: top"),
    "broken box": (IMAGES, [("a", (0, 0.5, 2, 2)), ("b", BOX)], {}, "whole numbers: top"),
    "box of another size": (
        IMAGES,
        [("a", BOX), ("b", (0, 0, 3, 2))],
        {"window_sizes": [(2, 2)]},
        "box of image 1 has 3 x 2 pixels; the window sizes are 2 x 2",
    ),
    "NaN": ([np.ones((4, 4)), NOT_A_NUMBER], [("a", BOX)] * 2, {}, "image 1 has a pixel that is NaN"),
    "NaN in an array": (
        np.stack([np.ones((4, 4)), NOT_A_NUMBER]),
        [("a", BOX)] * 2,
        {},
        "image 1 has a pixel that is NaN",
    ),
    "counts": (IMAGES, [("a", BOX)], {}, "X has 2 images, and y has 1"),
    "no pairs": (IMAGES, ["a", "b"], {}, r"y\[0\] is 'a'"),
    "one image": (np.ones((4, 4)), [("a", BOX)], {}, "2 dimensions"),
    "channels": ([np.ones((4, 4, 2)), np.ones((4, 4, 3))], [("a", BOX)] * 2, {}, "image 1 has 3 channels"),
    "strings": ([[["a", "b"]]], [("a", BOX)], {}, "pixels must be numbers"),
    "no image": ([], [], {}, "no image to train on"),
    "off the grid": (IMAGES, [("a", BOX), ("b", (1, 0, 2, 2))], {"stride": 2}, "grid of stride=2"),
    "size off the grid": (IMAGES, [("a", BOX)] * 2, {"stride": 2, "window_sizes": [(3, 2)]}, "multiples of 2"),
    "size twice": (IMAGES, [("a", BOX)] * 2, {"window_sizes": [(2, 2), (2, 2)]}, "only once"),
    "overlap": (IMAGES, [("a", BOX)] * 2, {"overlap": 2}, "overlap"),
    "stride": (IMAGES, [("a", BOX)] * 2, {"stride": 0}, "stride"),
    "loss": (IMAGES, [("a", BOX)] * 2, {"box_loss": "l2"}, "box_loss is 'l2'"),
    "mixed labels": (IMAGES, [("a", BOX), (1, BOX)], {}, "labels"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_with_the_reason(kind):
    X, y, options, message = BAD[kind]
    with pytest.raises(InputError, match=message):
        ObjectDetector(**options).fit(X, y)


def test_many_sizes_of_boxes_are_refused_unless_window_sizes_are_given():
    images = np.ones((30, 40, 40))
    targets = [("a", (0, 0, i + 1, 5)) for i in range(30)]
    with pytest.raises(InputError, match="30 different sizes; give window_sizes"):
        ObjectDetector().fit(images, targets)


def test_prediction_needs_fitting_and_images_like_those_of_training(detector):
    with pytest.raises(NotFittedError):
        ObjectDetector().predict(TEST.images)
    with pytest.raises(InputError, match="image 0 has 7 x 20 pixels, and the windows have 8 x 8"):
        detector.predict([np.ones((7, 20))])
    with pytest.raises(InputError, match="3 channels"):
        detector.predict(np.ones((1, 20, 20, 3)))
    with pytest.raises(InputError, match="k must be"):
        detector.predict_k_best(TEST.images, k=0)


def test_labels_that_training_did_not_see_count_as_errors(detector):
    targets = [(11, box) for _, box in TEST.targets]
    assert detector.score(TEST.images, targets) == 0
    assert detector.evaluate(TEST.images, targets)["mean_iou"] > 0.5


def test_bytes_are_scaled_to_1():
    grey = (TRAIN.images * 255).round().astype(np.uint8)
    from_bytes = ObjectDetector(max_iter=2).fit(grey, TRAIN.targets)
    from_floats = ObjectDetector(max_iter=2).fit(grey.astype(np.float32) / 255, TRAIN.targets)
    assert np.array_equal(from_bytes.model_.weights, from_floats.model_.weights)
