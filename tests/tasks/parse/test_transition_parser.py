"""`DependencyParser(method="transition")`: what it learns, stores and rejects."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
from support.killing import KillAfter, Killed

from marginloom import Checkpoint, DependencyParser, InputError, make_treebank
from marginloom.algorithms import ALGORITHMS
from marginloom.core.prefixes import UPDATES
from marginloom.errors import InputWarning
from marginloom.tasks.parse.feature_sets import FEATURE_SETS
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.tasks.parse.sentences import offsets_of

X, Y = make_treebank(40, seed=0)
HEADS = [[head for head, _ in tree] for tree in Y]
ONLINE = [name for name, preset in ALGORITHMS.items() if preset.learner.kind == "online"]
KINDS = {
    "default": {},
    "labelled": {"labelled": True, "label_stage": "arc"},
    "labelled in a second step": {"labelled": True},
    "vocabulary": {"labelled": True, "label_stage": "arc", "hash_bits": None, "merging": False},
    "plain states": {"features": "states", "beam": 2, "update": "early", "xpos": False},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def parser(algorithm="mira", **options):
    options = {"method": "transition", "beam": 4, "hash_bits": 14, "max_iter": 4, "random_state": 1, **options}
    return DependencyParser(algorithm, **options)


def fit(estimator, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*data, **options)


def error(*, warm=False, **options):
    with pytest.raises(InputError) as caught:
        fit(DependencyParser(**{"algorithm": "mira", "hash_bits": 10, "max_iter": 1, **options}), X, Y)
    text = str(caught.value)
    assert "\n" not in text
    return text


@every_kind
@pytest.mark.parametrize("update", UPDATES)
def test_gold_trees_are_learnt(kind, update):
    found = fit(parser(**{"max_iter": 10, **KINDS[kind], "update": update}), X, Y)
    scores = found.evaluate(X, Y)
    assert scores["uas"] > 0.9
    assert scores.get("las", 1) > 0.85
    assert found.certificate_ is None


@every_kind
def test_a_saved_parser_predicts_the_same_and_has_its_parameters(kind, tmp_path):
    found = fit(parser(**KINDS[kind]), X, Y)
    found.save(tmp_path / "model")
    loaded = DependencyParser.load(tmp_path / "model")
    assert loaded.predict(X) == found.predict(X)
    for name in ("method", "beam", "update", "merging", "labelled", "hash_bits"):
        assert loaded.get_params()[name] == found.get_params()[name]
    assert fit(loaded, X, Y).predict(X) == found.predict(X)


@every_kind
@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("minibatch-mira", {}),
        ("minibatch-perceptron", {}),
        ("ipm", {"engine": {"shards": 3}}),
        ("ipm-mira", {"engine": {"shards": 2}}),
    ],
)
def test_any_number_of_threads_gives_the_same_bits(kind, algorithm, options):
    weights = [
        fit(parser(algorithm, **{**KINDS[kind], **options}, n_threads=threads), X, Y).model_.weights.tobytes()
        for threads in (1, 3)
    ]
    assert weights[0] == weights[1]


def test_batches_of_one_give_the_bits_of_the_serial_engine():
    one = fit(parser("minibatch-mira", engine={"batch_size": 1}), X, Y)
    assert one.model_.weights.tobytes() == fit(parser("mira"), X, Y).model_.weights.tobytes()


@pytest.mark.parametrize(("threads", "algorithm"), [(1, "mira"), (2, "minibatch-mira")])
def test_auto_trains_and_claims_nothing(threads, algorithm):
    found = fit(parser("auto", n_threads=threads), X, Y)
    assert found.model_.settings["algorithm"] == algorithm
    assert found.certificate_ is None


@pytest.mark.parametrize("beam", [1, 64])
def test_prediction_takes_another_beam(beam):
    found = fit(parser(), X, Y)
    trees = found.predict(X, beam=beam)
    assert [len(tree) for tree in trees] == [len(sentence) for sentence in X]
    assert found.evaluate(X, Y, beam=beam)["uas"] > 0.5
    assert found.predict(X, beam=4) == found.predict(X)


def test_sentences_of_no_word_and_of_one_are_parsed():
    found = fit(parser(), [*X, [], X[0][:1]], [*HEADS, [], [0]])
    assert found.predict([[], X[0][:1], X[1]])[:2] == [[], [0]]


@pytest.mark.parametrize("labelled", [True, False])
def test_a_sentence_of_5000_words_is_learnt_from_and_parsed(labelled):
    sentence = [X[0][k % 2] for k in range(5_000)]
    tree = [(k, "dep" if k else "root") for k in range(5_000)]
    found = fit(parser(labelled=labelled, max_iter=1), [sentence], [tree])
    (heads,) = found.predict([sentence])
    assert sum((head[0] if labelled else head) == 0 for head in heads) == 1


def test_strongest_weights_are_named_by_action():
    found = fit(parser(hash_bits=None, labelled=True), X, Y)
    labels = {entry["label"] for entry in found.model_.strongest(3)}
    assert {"shift", "left", "right"} <= labels
    assert all("=" in entry["feature"] or entry["feature"] == "bias" for entry in found.model_.strongest(3))
    assert found.model_.summary()["method"] == "transition"


def test_hashes_and_a_vocabulary_name_the_same_features():
    """With more buckets than features, what a vocabulary knows scores as its hash does."""
    known = fit(parser(hash_bits=None, features="states"), X, HEADS)
    hashed = fit(parser(hash_bits=22, features="states"), X, HEADS)
    assert known.evaluate(X, Y)["uas"] > 0.95
    assert hashed.evaluate(X, Y)["uas"] > 0.95


@pytest.mark.parametrize("name", [name for name in FEATURE_SETS if name.startswith("states")])
def test_named_sets_are_those_of_the_method(name):
    features = ArcFeatureSet(name, method="transition", labelled=False)
    assert features.kinds == ("states", "labels")
    assert f"the feature set {name} is for method=transition" in error(features=name)
    assert error(method="transition", features="arcs").startswith("the feature set arcs is for method=graph")


def test_the_set_states_has_the_28_templates_of_huang_and_sagae():
    lines = [line for line in FEATURE_SETS["states"].split("\n") if line and "label" not in line]
    assert len(lines) == len(set(lines)) == 28


@pytest.mark.parametrize(
    ("templates", "method", "what"),
    [
        ("pos[h] pos[m]", "transition", r"line 1: found 'pos\[h\]', expected something like pos\[s0\], at one of s0"),
        (
            "pos[s0] pos[q0]",
            "graph",
            r"line 1: found 'pos\[s0\]', expected .*s0, q0 and so on are for method transition",
        ),
        ("pos[s0+1]", "transition", r"found 'pos\[s0\+1\]'"),
        ("valency[s0]", "transition", r"expected something like valency\[s0.l\]"),
        ("direction pos[s0]", "transition", "found 'direction', expected one of bias, word"),
        ("label pos[m]", "transition", "templates of labels only"),
        ("label pos[s0]\npos[s0]", "transition", r"line 1: found 'pos\[s0\]'"),
    ],
)
def test_templates_of_another_scope_are_rejected(tmp_path, templates, method, what):
    (tmp_path / "own.txt").write_text(templates)
    with pytest.raises(InputError, match=what):
        ArcFeatureSet(tmp_path / "own.txt", method=method)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"beam": 0}, "beam must be a whole number from 1 to 4,096, not 0"),
        ({"beam": 4097}, "beam must be a whole number from 1 to 4,096, not 4097"),
        ({"update": "late"}, "update must be max-violation, early or standard, not 'late'"),
        ({"order": 2}, "order=2 does not go with method=transition"),
        ({"projective": False}, "projective=False does not go with method=transition"),
        ({"roots": "many"}, "roots='many' does not go with method=transition"),
        ({"feature_cache": "1M"}, "feature_cache does not go with method=transition"),
        ({"method": "graph", "beam": 4}, r"beam \(--beam\) needs method=transition"),
        ({"method": "graph", "update": "early"}, r"update \(--update\) needs method=transition"),
        ({"method": "graph", "merging": False}, r"merging=False \(--no-merging\) needs method=transition"),
        ({"method": "shift"}, "method must be graph or transition, not 'shift'"),
    ],
)
def test_options_that_do_not_go_together_are_rejected(options, what):
    with pytest.raises(InputError, match=what):
        fit(DependencyParser("mira", **{"method": "transition", **options}), X, Y)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in ONLINE] + ["sgd", "kbest-mira"])
def test_what_needs_exact_search_is_rejected_by_the_name_of_the_method(algorithm):
    if ALGORITHMS[algorithm].learner.name in ("newton", "binary-dcd"):
        pytest.skip("these need classes or labels, not trees")
    said = error(algorithm=algorithm, method="transition", n_threads=4)
    assert said.startswith(f"{algorithm} needs ")
    assert said.endswith("with method=transition")


def test_mira_with_loss_augmented_search_is_rejected():
    said = error(algorithm="mira", method="transition", learner={"loss_augmented": True})
    assert said.startswith("mira needs loss-augmented inference")
    assert said.endswith("with method=transition")


def test_k_best_trees_are_rejected():
    found = fit(parser(), X, Y)
    with pytest.raises(InputError, match="a parser with method=transition has no other"):
        found.predict_k_best(X, 2)
    assert [best[0][0] for best in found.predict_k_best(X, 1)] == found.predict(X)


def test_a_graph_parser_has_no_beam():
    found = fit(DependencyParser("mira", hash_bits=10, max_iter=1), X, Y)
    with pytest.raises(InputError, match="trained with method=graph, which has no beam"):
        found.predict(X, beam=4)


@pytest.mark.parametrize("first", ["graph", "transition"])
def test_states_and_checkpoints_of_the_other_method_are_rejected(first, tmp_path):
    second = {"graph": "transition", "transition": "graph"}[first]
    options = {"hash_bits": 10, "max_iter": 4, "random_state": 1}
    found = fit(DependencyParser("mira", method=first, warm_start=True, **options), X, Y)
    with pytest.raises(InputError, match="the state to start from was trained"):
        fit(found.set_params(method=second), X, Y)
    checkpoint = Checkpoint(tmp_path, interval=0)
    with pytest.raises(Killed):
        fit(DependencyParser("mira", method=first, **options), X, Y, checkpoint=checkpoint, callbacks=[KillAfter(2)])
    with pytest.raises(InputError, match="this checkpoint is of a run with other method"):
        fit(DependencyParser("mira", method=second, **options), X, Y, checkpoint=checkpoint, resume=True)


@every_kind
def test_a_killed_run_goes_on_to_the_same_bits(kind, tmp_path):
    whole = fit(parser(**KINDS[kind]), X, Y)
    checkpoint = Checkpoint(tmp_path, interval=0)
    with pytest.raises(Killed):
        fit(parser(**KINDS[kind]), X, Y, checkpoint=checkpoint, callbacks=[KillAfter(2)])
    rest = fit(parser(**KINDS[kind]), X, Y, checkpoint=checkpoint, resume=True)
    assert rest.model_.weights.tobytes() == whole.model_.weights.tobytes()


def test_crossing_arcs_are_repaired_as_for_graphs():
    words, trees = make_treebank(30, seed=3, nonprojective=0.5)
    with pytest.warns(InputWarning, match="non-projective trees, which projective parsing cannot predict: repaired"):
        parser(max_iter=1).fit(words, trees)
    with pytest.raises(InputError, match="non-projective trees"):
        parser(invalid_gold="error").fit(words, trees)


def test_damaged_options_in_a_file_are_rejected():
    model = fit(parser(), X, Y).model_
    header, tensors = model.own_parts()
    for change in ({"beam": 0}, {"beam": "8"}, {"update": "late"}, {"merging": 3}):
        damaged = {**header, "trees": {**header["trees"], "search": {**header["trees"]["search"], **change}}}
        with pytest.raises((InputError, ValueError)):
            type(model).from_own_parts({**damaged, "settings": model.settings}, tensors)
    for change in ({"order": 2}, {"projective": False}, {"search": None}):
        damaged = {**header, "trees": {**header["trees"], **change}}
        with pytest.raises(ValueError, match=r"beam search|other trees|another method"):
            type(model).from_own_parts({**damaged, "settings": model.settings}, tensors)


def test_more_states_of_a_beam_find_trees_that_score_no_less_on_the_whole():
    model = fit(parser(), X, Y).model_
    scores = []
    for beam in (1, 8, 64):
        other = dataclasses.replace(model, options=model.with_beam(beam).options)
        rows = fit(parser(), X, Y)._sentences(X)
        task = other.task_of(rows, offsets_of(rows.sentences))
        scores.append(np.sum(task.core.predict(model.weights, 1, 1).scores))
    assert scores == sorted(scores)


def test_files_from_before_there_was_a_method_hold_graph_parsers():
    found = fit(DependencyParser("mira", hash_bits=10, max_iter=1), X, HEADS)
    header, tensors = found.model_.own_parts()
    assert "method" not in json.loads(tensors["features_options"].tobytes())
    trees = {name: value for name, value in header["trees"].items() if name != "search"}
    settings = {name: value for name, value in found.model_.settings.items() if name != "method"}
    loaded = type(found.model_).from_own_parts({**header, "trees": trees, "settings": settings}, tensors)
    assert loaded.features.method == "graph"
    assert loaded.options.search is None
    loaded.weights = found.model_.weights
    sentences = found._sentences(X)
    assert loaded.predict(sentences)[1].heads.tolist() == found.model_.predict(sentences)[1].heads.tolist()


@pytest.mark.parametrize(
    ("name", "options", "identity"),
    [
        ("arcs", {"order": 2}, 14939766469219338220),
        ("states", {"method": "transition"}, 2452804064047461625),
        ("states-rich", {"method": "transition"}, 16155286908325978436),
    ],
)
def test_named_sets_keep_their_features_and_the_keys_of_these(name, options, identity):
    """Stored models and checkpoints have weights by the keys."""
    words, trees = [[("dogs", "NOUN", "NNS"), ("bark", "VERB", "VBP")]], [[(2, "nsubj"), (0, "root")]]
    options = {"hash_bits": None, "max_iter": 1, "labelled": True, "label_stage": "arc", "xpos": True, **options}
    found = fit(DependencyParser("mira", features=name, **options), words, trees)
    assert found.model_.features.core.identity == identity
