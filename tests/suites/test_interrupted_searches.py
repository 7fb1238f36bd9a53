"""One long search hears Ctrl-C: the inference of every native task, for predictions, certificates and features."""

import _thread
import gc
import itertools
import operator
from functools import partial

import numpy as np
import pytest

from marginloom import _core
from marginloom.tasks.detection.boxes import loss_tables
from marginloom.tasks.detection.images import ImageSet
from marginloom.tasks.detection.task import DetectionTask
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.tasks.parse.model import ParseProblem
from marginloom.tasks.parse.treebank import Treebank
from marginloom.tasks.relations.features import EncodedSpans, FeatureRows
from marginloom.tasks.relations.outputs import Outputs
from marginloom.tasks.relations.task import RelationsTask, Space
from marginloom.tasks.sequence.task import SequenceTask
from marginloom.training.spec import RunSpec

DRAW = np.random.default_rng(7)


def parser(words, **options):
    """Return a task with one sentence, which is a chain."""
    sentence = [(f"w{k % 50}", f"T{k % 7}") for k in range(words)]
    labelled = options.get("labelled")
    settings = {"order": 1, "labelled": False, "hash_bits": 12, **options}
    problem = ParseProblem(
        training=Treebank.from_lists([sentence], [[(k, f"l{k % 5}") if labelled else k for k in range(words)]]),
        features=ArcFeatureSet("arcs", **{name: settings[name] for name in ("order", "labelled", "hash_bits")}),
        projective=settings.get("projective", True),
    )  # fmt: skip
    return problem.prepare(RunSpec()).task


def tagger(tokens, labels):
    features = [[[k % 20] for k in range(tokens)]]
    return SequenceTask.from_lists(features, [[0] * tokens], feature_count=20, label_count=labels)


def labels(count):
    pairs = list(itertools.combinations(range(count), 2))
    rows = 7  # which are searched together
    X, y = DRAW.normal(size=(rows, 3)), np.zeros((rows, count), dtype=int)
    return MultilabelTask(X, y, count, pairs=pairs, inference="relaxed", sweeps=10_000)


def detector(side):
    images = ImageSet.pack(DRAW.normal(size=(1, side, side, 3)).astype(np.float32))
    sizes = [(32 + k, 32) for k in range(6)]
    gold = np.array([[0, 0, 1, 1]], dtype=np.uint32)
    return DetectionTask(images, gold, 8, sizes, losses=loss_tables("iou", range(8), sizes))


def extractor(spans):
    pairs = spans * (spans - 1)
    rows = [
        FeatureRows(np.arange(count + 1, dtype=np.uint64), DRAW.integers(50, size=count).astype(np.uint32))
        for count in (spans, pairs)
    ]
    encoded = EncodedSpans(np.array([0, spans], np.uint64), *rows)
    gold = Outputs(np.zeros(spans, np.uint8), np.zeros(pairs, np.uint8))
    table = [(1, 0, 1), (2, 1, 2), (3, 2, 2)]
    return RelationsTask(encoded, (50, 50), Space(4, 3, table), gold=gold)


#: Tasks whose only example, or the few that are searched together, takes far longer to search than the 50 ms after
#: which work looks for signals.
LONG = {
    "projective trees": partial(parser, 1500),
    "any trees": partial(parser, 3000, projective=False),
    "siblings": partial(parser, 800, order=2),
    "siblings in any tree": partial(parser, 800, order=2, projective=False),
    "labels of arcs": partial(parser, 1500, labelled=True),
    "sequences": partial(tagger, 8000, 900),
    "sets of labels": partial(labels, 1500),
    "types and relations": partial(extractor, 900),
    "windows": partial(detector, 1200),
}


@pytest.fixture(scope="module", params=LONG)
def long(request):
    task = LONG[request.param]()
    return task, DRAW.normal(size=task.core.dimension)


def is_interrupted(work):
    """Tell whether Ctrl-C, which comes just before native work begins, ends it before its own end."""
    ended = []
    gc.disable()  # nothing of Python's may run between the calls
    try:
        with pytest.raises(KeyboardInterrupt):
            list(map(operator.call, [_thread.interrupt_main, work, partial(ended.append, True)]))
    finally:
        gc.enable()
    return not ended


@pytest.mark.parametrize("threads", [1, 2])
def test_prediction_ends_within_a_search(long, threads):
    task, weights = long
    assert is_interrupted(partial(task.core.predict, weights, threads))


@pytest.mark.parametrize("make", [partial(parser, 200), partial(tagger, 1500, 900)], ids=["trees", "sequences"])
def test_the_k_best_outputs_end_within_a_search(make):
    task = make()
    assert is_interrupted(partial(task.core.predict, DRAW.normal(size=task.core.dimension), 1, 50))


def test_certificate_ends_within_a_search(long):
    task, weights = long
    work = partial(_core.primal_value, task.core, weights, np.ones(task.core.size), _core.Loss.hinge, 1)
    found = []
    try:
        found += map(operator.call, [_thread.interrupt_main, work])
    except KeyboardInterrupt:
        pytest.fail("nothing of the work has heard it")
    assert not found[1].complete
    assert found[1].value == found[1].squared_norm / 2  # no example has been searched to its end
