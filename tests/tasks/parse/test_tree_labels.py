"""Labels of known trees: inference against enumeration, certificates, files, and every kind of tree."""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest
from support.program import refuses, run

from marginloom import DependencyParser, InputError, make_treebank, write_conllu
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.tasks.parse.jackknife import jackknifed
from marginloom.tasks.parse.task import TreeOptions, Trees
from marginloom.tasks.parse.tree_labels import LabelSpace, TreeLabeller
from marginloom.training.spec import RunSpec
from marginloom.training.train import train_as

X, Y = make_treebank(40, seed=0)
SPACE = LabelSpace(4, (0, 3), (1, 2, 3))
KINDS = {
    "first order": {},
    "second order": {"order": 2},
    "non-projective": {"projective": False},
    "many roots": {"roots": "many"},
    "second order, any": {"order": 2, "projective": False},
    "transition": {"method": "transition", "algorithm": "mira", "beam": 4},
}


def fit(estimator, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*data, **options)


def parser(**options):
    return DependencyParser(**{"labelled": True, "hash_bits": 12, "max_iter": 5, "n_threads": 1, **options})


def small_problem(count=6, bits=6):
    """Short sentences with random trees and labels, and the labeller that is to learn them."""
    random = np.random.default_rng(0)
    sentences, heads, labels = [], [], []
    for words in X[:count]:
        words = words[:5]
        head = [0, *(int(random.integers(0, m)) for m in range(1, len(words)))]
        sentences.append(words)
        heads += head
        labels += [random.choice(SPACE.at_root if h == 0 else SPACE.elsewhere) for h in head]
    features = ArcFeatureSet("arcs-rich", method="labels", hash_bits=bits)
    features.choose(sentences)
    features.fit_labels(sentences, SPACE.size, bits)
    offsets = np.cumsum([0, *map(len, sentences)]).astype(np.uint64)
    labeller = TreeLabeller(features=features, space=SPACE)
    return labeller, features.values(sentences), offsets, np.array(heads, np.uint16), np.array(labels, np.uint16)


def arcs_of(labeller, values, offsets, heads):
    return labeller.features.native_extractor.encode(values.reshape(-1), offsets, heads, labeller.bits, 1)


def labelings(kinds):
    return itertools.product(*[SPACE.at_root if kind else SPACE.elsewhere for kind in kinds])


def score(weights, core, rows, labels):
    """The score of the labels of a chain, as the layout of the weights says."""
    w = weights.reshape(-1, core.stride)
    found = sum(w[core.first_feature_row + row, label].sum() for row, label in zip(rows, labels, strict=True))
    found += sum(w[before, after] for before, after in itertools.pairwise(labels))
    return found + w[core.start_row, labels[0]] + w[core.start_row + 1, labels[-1]]


def chains(arcs):
    bounds, starts = arcs.chains.tolist(), arcs.offsets.tolist()
    for start, end in itertools.pairwise(bounds):
        rows = [arcs.features[starts[k] : starts[k + 1]] for k in range(start, end)]
        yield rows, arcs.words[start:end].astype(int), arcs.kinds[start:end].tolist()


def test_labels_are_the_best_of_all_that_arcs_may_have():
    labeller, values, offsets, heads, _ = small_problem()
    labeller.weights = np.random.default_rng(1).normal(size=labeller.dimension)
    found = labeller.predict(values, offsets, heads)
    core = labeller.task_of(values, offsets, heads).core
    arcs = arcs_of(labeller, values, offsets, heads)
    assert sorted(arcs.words.tolist()) == list(range(heads.size))
    assert max(len(rows) for rows, _, _ in chains(arcs)) > 2
    for rows, words, kinds in chains(arcs):
        best = max(labelings(kinds), key=lambda labels: score(labeller.weights, core, rows, labels))
        assert found[words].tolist() == list(best)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_certificate_is_that_of_the_objective_computed_by_enumeration(loss):
    labeller, values, offsets, heads, gold = small_problem()
    task = labeller.task_of(values, offsets, heads, gold)
    C = 0.5
    result = train_as(task, RunSpec(algorithm="dcd-ssvm", C=C, tol=1e-4, loss=loss))
    slacks = []
    for rows, words, kinds in chains(arcs_of(labeller, values, offsets, heads)):
        right = score(result.weights, task.core, rows, gold[words].tolist())
        slacks.append(
            max(
                score(result.weights, task.core, rows, labels) - right + sum(np.array(labels) != gold[words])
                for labels in labelings(kinds)
            )
        )
    power = 1 if loss == "hinge" else 2
    primal = 0.5 * (result.weights**2).sum() + C * sum(slack**power for slack in slacks)
    assert result.certificate.primal == pytest.approx(primal, rel=1e-6)
    assert result.certificate.exact
    assert 0 <= result.certificate.gap <= 1e-4


def test_gold_labels_that_an_arc_may_not_have_are_an_error():
    labeller, values, offsets, heads, gold = small_problem()
    gold[heads == 0] = 1
    with pytest.raises(InputError, match="the gold labels break the constraints"):
        labeller.task_of(values, offsets, heads, gold)


@pytest.mark.parametrize(
    ("atom", "there", "elsewhere"),
    [
        ("g", [2, 3, 0, 3], [2, 4, 0, 3]),  # the head of word 1's head
        ("f", [0, 1, 2, 2], [0, 1, 1, 2]),  # the first dependent of word 2
        ("l", [0, 1, 2, 2], [0, 1, 2, 1]),  # the last one
        ("p", [4, 4, 4, 0], [4, 1, 4, 0]),  # the dependent before word 3
        ("n", [4, 4, 4, 0], [4, 4, 2, 0]),  # the one after word 2
    ],
)
def test_templates_see_the_tree_around_an_arc(tmp_path, atom, there, elsewhere):
    (tmp_path / "own.txt").write_text(f"pos[m]\nlabel word[{atom}]\n")
    features = ArcFeatureSet(tmp_path / "own.txt", method="labels", hash_bits=20)
    words = [[(form, "X") for form in "abcd"]]
    features.fit_labels(words, 3, 20)
    watched = {"g": 0, "f": 1, "l": 1, "p": 2, "n": 1}[atom]

    def feature(heads):
        arcs = features.native_extractor.encode(
            features.values(words).ravel(), np.array([0, 4], np.uint64), np.array(heads, np.uint16), 20, 1
        )
        return arcs.features[arcs.words.tolist().index(watched)]

    assert feature(there) != feature(elsewhere)
    assert feature(there) == feature(there)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_parser_labels_its_trees_and_keeps_that_in_its_file(kind, tmp_path):
    found = fit(parser(**KINDS[kind]), X, Y)
    assert found.model_.label_stage == "tree"
    assert found.evaluate(X, Y)["las"] > 0.85
    plain = fit(parser(**KINDS[kind], label_stage="tree"), X, Y)
    heads = fit(parser(**{**KINDS[kind], "labelled": False}), X, Y).predict(X)
    assert [[head for head, _ in tree] for tree in plain.predict(X)] == heads
    found.save(tmp_path / "model")
    loaded = DependencyParser.load(tmp_path / "model")
    assert loaded.predict(X) == found.predict(X) == plain.predict(X)
    assert loaded.model_.labeller.certificate == found.model_.labeller.certificate
    assert loaded.model_.steps()["labels"]["gap"] <= 0.01
    assert loaded.label_stage == "tree"
    if "transition" not in kind and kind != "second order, any":
        best = [trees[0][0] for trees in loaded.predict_k_best(X[:5], 3)]
        assert best == found.predict(X[:5])


def test_labels_with_the_arcs_are_still_to_be_had(tmp_path):
    found = fit(parser(label_stage="arc", features="arcs", xpos=False), X, Y)
    assert found.model_.labeller is None
    assert found.model_.label_stage == "arc"
    found.save(tmp_path / "model")
    assert DependencyParser.load(tmp_path / "model").predict(X) == found.predict(X)


def test_labels_follow_from_dependents_only_where_the_tree_is_known():
    """Word a is called x if it has a dependent, else y."""
    words = [("v", "V"), ("a", "A"), ("b", "B")]
    trees = [[(0, "r"), (1, "x"), (2, "z")], [(0, "r"), (1, "y"), (1, "z")]] * 10
    values = ArcFeatureSet("arcs-rich", method="labels", hash_bits=12)
    sentences = [words] * len(trees)
    values.choose(sentences)
    values.fit_labels(sentences, 4, 12)
    names = ["r", "x", "y", "z"]
    heads = np.array([head for tree in trees for head, _ in tree], np.uint16)
    gold = np.array([names.index(label) for tree in trees for _, label in tree], np.uint16)
    labeller = TreeLabeller(features=values, space=LabelSpace(4, (0,), (1, 2, 3)))
    offsets = np.arange(0, heads.size + 1, 3).astype(np.uint64)
    views = values.values(sentences)
    labeller.weights = train_as(labeller.task_of(views, offsets, heads, gold), RunSpec(C=10.0)).weights
    assert labeller.predict(views, offsets, heads).tolist() == gold.tolist()


def test_jackknifed_trees_are_those_of_parsers_that_have_not_seen_the_sentence():
    features = ArcFeatureSet("arcs", labelled=False, hash_bits=12)
    offsets = np.cumsum([0, *map(len, X)]).astype(np.uint64)
    gold = np.array([head for tree in Y for head, _ in tree], np.uint16)
    values = features.values(X)
    found = jackknifed(offsets, values, features.core, TreeOptions(), Trees(gold, None), RunSpec())
    assert found.shape == gold.shape
    assert 0 < np.count_nonzero(found != gold) < gold.size / 2
    assert ((found == 0) == (gold == 0)).all()
    trained = fit(parser(label_trees="jackknife"), X, Y)
    assert trained.model_.labeller.settings["trees"] == "jackknife"
    assert trained.evaluate(X, Y)["las"] > 0.8


def test_options_of_the_second_step_need_it():
    for options in ({"label_cost": 1.0, "label_stage": "arc"}, {"label_trees": "jackknife", "labelled": False}):
        with pytest.raises(InputError, match="is about labels that are found when the tree is known"):
            parser(**options).fit(X, Y)
    with pytest.raises(InputError, match="label_stage"):
        parser(label_stage="later").fit(X, Y)


def test_a_damaged_label_step_is_an_error():
    model = fit(parser(), X, Y).model_
    header, tensors = model._parts()
    for change in ({"space": [3, [0], [9]]}, {"space": [40, [0], [1]]}):
        damaged = {**header, "label_step": {**header["label_step"], **change}}
        with pytest.raises(ValueError, match=r"labels|weights"):
            type(model)._from_parts(damaged, tensors)
    with pytest.raises(ValueError, match="weights of labels"):
        type(model)._from_parts(header, {**tensors, "label_step.weights": tensors["label_step.weights"][1:]})
    assert dataclasses.replace(model).labeller is model.labeller


def test_the_command_line_reports_the_second_step(tmp_path):
    write_conllu(tmp_path / "t.conllu", X, Y)
    train = ("train", "parse", tmp_path / "t.conllu", "--labelled", "--max-iter", "4", "--model", tmp_path / "m")
    done = run(*train, "--label-C", "0.5")
    assert "labels: dcd-ssvm: " in done.stdout.replace("\n", " ")
    assert "C = 0.5" in done.stdout
    assert "label step" in run("inspect", tmp_path / "m").stdout
    assert "--label-C" in refuses(*train, "--label-stage", "arc", "--label-C", "0.5")
