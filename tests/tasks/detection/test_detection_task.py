"""The detection task against plain enumeration, at sizes where correlation goes either way."""

import numpy as np
import pytest
from support.images import TinyImages

from marginloom.tasks.custom.task import CustomTask
from marginloom.tasks.detection.boxes import loss_tables
from marginloom.tasks.detection.images import ImageSet
from marginloom.tasks.detection.task import DetectionTask
from marginloom.training.train import train


def decoded(candidate):
    return tuple(np.frombuffer(candidate.output, dtype="<u2").tolist())


SHAPES = [
    {},
    {"shape": (9, 10), "sizes": [(3, 2), (2, 4)], "channels": 2, "bias": True},
    {"shape": (33, 20), "sizes": [(8, 8), (15, 7)], "labels": 2, "channels": 3},
]


@pytest.mark.parametrize("options", SHAPES, ids=["large", "small", "channels"])
@pytest.mark.parametrize("loss_scale", [0.0, 1.0])
def test_the_most_violated_window_is_that_of_enumeration(options, loss_scale):
    problem = TinyImages(0, count=2, **options)
    task = problem.task()
    weights = np.random.default_rng(1).normal(size=task.core.dimension)
    for i in range(2):
        values = problem.values(i, weights, loss_scale)
        right = weights @ problem.features(i, problem.gold[i])
        search = task.core.find(i, weights, loss_scale, 3)
        bound, candidates = search.bound, search.candidates
        best = [problem.windows[k] for k in np.argsort(-values, kind="stable")[:3]]
        assert bound == pytest.approx(max(values.max() - right, 0), rel=1e-12)
        assert [decoded(candidate) for candidate in candidates] == [
            window for window in best if window != problem.gold[i]
        ]
        for candidate in candidates:
            window = decoded(candidate)
            difference = problem.features(i, problem.gold[i]) - problem.features(i, window)
            assert candidate.loss == pytest.approx(problem.loss(problem.gold[i], window), abs=1e-15)
            assert candidate.squared_norm == pytest.approx(difference @ difference)


def test_blank_windows_tie_and_the_first_of_them_wins():
    images = np.zeros((1, 64, 64), dtype=np.float32)
    images[0, 40:50, 40:50] = 1
    sizes, labels = [(28, 28)], 4
    gold = np.array([[2, 0, 30, 30]], dtype=np.uint32)
    task = DetectionTask(ImageSet.pack(images), gold, labels, sizes, losses=loss_tables("iou", range(labels), sizes))
    weights = -np.ones(task.core.dimension)  # anything bright scores below 0
    search = task.core.find(0, weights)
    bound, candidates = search.bound, search.candidates
    assert decoded(candidates[0]) == (0, 0, 0, 0)
    assert bound == 1 + 100
    windows, scores, _ = task.predict_k_best(weights, 1)
    assert windows.tolist() == [[0, 0, 0, 0]]
    assert scores.tolist() == [0]


def test_images_may_differ_in_size_and_lack_room_for_some_windows():
    random = np.random.default_rng(3)
    images = [random.normal(size=shape) for shape in ((6, 5), (3, 9), (12, 4))]
    task = DetectionTask(ImageSet.pack(images), None, 1, [(3, 3), (5, 4)])
    weights = random.normal(size=task.core.dimension)
    windows, scores, _ = task.predict_k_best(weights, 1)
    blocks = (weights[:9].reshape(3, 3), weights[9:].reshape(5, 4))
    for image, window, score in zip(images, windows.tolist(), scores, strict=True):
        best = max(
            (
                float((image[top : top + b.shape[0], left : left + b.shape[1]].astype(np.float32) * b).sum()),
                s,
                top,
                left,
            )
            for s, b in enumerate(blocks)
            for top in range(image.shape[0] - b.shape[0] + 1)
            for left in range(image.shape[1] - b.shape[1] + 1)
        )
        assert score == pytest.approx(best[0])
        assert window == [0, *best[1:]]


class Enumerated(CustomTask):
    """The same problem as a task in plain Python."""

    def __init__(self, problem):
        self.problem = problem
        super().__init__(list(range(len(problem.gold))), list(problem.gold), dimension=problem.task().core.dimension)

    def features(self, x, y):
        phi = self.problem.features(x, tuple(y))
        return {int(k): float(phi[k]) for k in np.flatnonzero(phi)}

    def loss(self, gold, y):
        return self.problem.loss(tuple(gold), tuple(y))

    def argmax(self, x, w):
        return self.problem.windows[int(np.argmax(self.problem.values(x, np.asarray(w), 0)))]

    def argmax_augmented(self, x, gold, w):
        return self.problem.windows[int(np.argmax(self.problem.values(x, np.asarray(w), 1)))]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_training_reaches_the_optimum_of_the_same_problem_written_in_python(loss):
    problem = TinyImages(5, shape=(6, 6), sizes=[(2, 3)], labels=2, count=6)
    options = {"algorithm": "dcd-ssvm", "C": 0.5, "loss": loss, "tol": 1e-4, "max_iter": 500}
    native = train(problem.task(), **options)
    plain = train(Enumerated(problem), **options)
    assert native.certificate.gap <= 1e-4
    assert native.certificate.primal == pytest.approx(plain.certificate.primal, rel=3e-4)
    np.testing.assert_allclose(native.weights, plain.weights, atol=0.02)


def test_fingerprints_tell_options_and_pixels_apart():
    problem = TinyImages(7, shape=(6, 6), sizes=[(2, 3)], labels=2, count=3)
    original = problem.task().fingerprints
    problem.images[0, 0, 0] += 1
    assert {name for name, value in problem.task().fingerprints.items() if value != original[name]} == {"features"}
    problem.images[0, 0, 0] -= 1
    problem.bias = True
    assert problem.task().fingerprints["fit_intercept"] != original["fit_intercept"]
    assert problem.task().fingerprint == original["examples"]
