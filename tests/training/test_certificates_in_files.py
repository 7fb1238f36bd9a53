"""Certificates of estimators: recomputed from the file that `save` wrote, after a warm start with other options."""

import dataclasses

import numpy as np
import pytest
from support.certified import Costs, bounds, enumeration_of, problem_of
from support.changeable import PROBLEMS
from support.recomputed import check_certificate

from marginloom import (
    DependencyParser,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    SequenceTagger,
)
from marginloom.tasks.sequence.constraints import BOUNDARY, END, START


def tagger(oracle):
    pairs = [
        (START if before == BOUNDARY else before, END if after == BOUNDARY else after)
        for before, after in oracle.forbidden
    ]
    options = {
        "constraints": pairs,
        "label_costs": dict(enumerate(oracle.label_costs.tolist())),
        "start_end": oracle.start_end,
    }
    return SequenceTagger, options, (np.vstack(oracle.X), np.concatenate(oracle.y)), {"lengths": oracle.lengths}


def classifier(oracle):
    bias = {"intercept_scaling": oracle.bias} if oracle.bias else {"fit_intercept": False}
    return MulticlassClassifier, {"cost_matrix": oracle.costs, **bias}, (oracle.X, oracle.y), {}


def multilabel(oracle):
    bias = {"intercept_scaling": oracle.bias} if oracle.bias else {"fit_intercept": False}
    options = {
        "label_costs": dict(enumerate(map(tuple, oracle.costs.tolist()))),
        "interactions": oracle.pairs or None,
        "normalize": False,
        **bias,
    }
    return MultilabelClassifier, options, (oracle.X, np.array(oracle.y)), {}


def detector(oracle):
    sizes = oracle.images.sizes
    boxes = [(label, (top, left, *sizes[size])) for label, size, top, left in oracle.y]
    options = {"window_sizes": sizes, "box_loss": oracle.box_loss, "fit_intercept": oracle.images.bias}
    return ObjectDetector, options, (oracle.images.images, boxes), {}


def parser(oracle):
    options = {
        "order": oracle.order,
        "projective": oracle.projective,
        "labelled": oracle.labels > 0,
        "label_stage": "arc",
        "roots": "one" if oracle.one_root else "many",
        "hash_bits": None,
    }
    trees = [oracle.apart(i, y) for i, y in enumerate(oracle.y)]
    y = [list(zip(heads, map(str, labels), strict=True)) if labels else list(heads) for heads, labels in trees]
    return DependencyParser, options, (oracle.X, y), {}


ESTIMATORS = {
    "sequence": tagger,
    "sequence, constrained": tagger,
    "multiclass": classifier,
    "multilabel, tree": multilabel,
    "detection": detector,
    "parse, projective": parser,
    "parse, any tree": parser,
    "parse, siblings and labels": parser,
    "parse, siblings in any tree": parser,
}
CHANGED = {
    "sequence": "constraints",
    "sequence, constrained": "no constraints",
    "detection": "loss",
    "parse, projective": "crossing arcs",
    "parse, any tree": "roots",
    "parse, siblings and labels": "no siblings",
    "parse, siblings in any tree": "roots",
}
COSTS = Costs(0.2)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_certificates_in_files_are_those_of_the_weights_and_duals_beside_them(name, loss, tmp_path):
    make, change = ESTIMATORS[name], CHANGED.get(name, "costs")
    kind, options, data, more = make(PROBLEMS[name].oracle)
    if kind is DependencyParser:
        (tmp_path / "templates").write_text(PROBLEMS[name].oracle.templates)
        options["features"] = str(tmp_path / "templates")
    estimator = kind(**options, warm_start=True, loss="squared_hinge", C=0.5, max_iter=3, tol=1e-12).fit(*data, **more)
    _, options, data, more = make(problem_of(name, change).oracle)
    estimator.set_params(**options, loss=loss, C=COSTS.C, max_iter=1).fit(*data, **more)
    estimator.save(tmp_path / "model")
    saved = kind.load(tmp_path / "model").model_
    assert saved.certificate == estimator.certificate_
    enumeration = enumeration_of(name, change, COSTS, loss)
    between = bounds(name, change, COSTS, loss)
    check_certificate(enumeration, between, saved.weights, saved.certificate, saved.state.arrays, averaged=False)
    row = estimator.history_[-1]
    assert {part: row[part] for part in ("primal", "dual", "gap")} == {
        part: value for part, value in dataclasses.asdict(saved.certificate).items() if part not in ("exact", "bounded")
    }
