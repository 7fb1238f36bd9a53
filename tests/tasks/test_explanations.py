"""Explanations: rows that sum to the difference of two scores, by feature and by training example."""

import math
from contextlib import suppress

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from marginloom import (
    DependencyParser,
    InputError,
    InputWarning,
    MulticlassClassifier,
    MultilabelClassifier,
    SequenceTagger,
    make_tagging,
)
from marginloom.tasks.base.example_shares import REST
from marginloom.tasks.parse.datasets import make_treebank

WORDS, TAGS = make_tagging(60, seed=0)
SENTENCES, TREES = make_treebank(40, seed=0)
rng = np.random.default_rng(0)
ROWS = rng.normal(size=(80, 5)) * (rng.random((80, 5)) < 0.7)
CLASSES = [("a", "b", "c")[c] for c in ROWS[:, :3].argmax(axis=1)]
SETS = [[name for name, x in zip("abc", row, strict=False) if x > 0.2] for row in ROWS]


def sums(explanation):
    """Return the difference, after checking that all rows sum to it."""
    total = math.fsum(row.contribution for row in explanation.features)
    assert total == pytest.approx(explanation.difference, rel=1e-9, abs=1e-12)
    assert [abs(row.contribution) for row in explanation.features] == sorted(
        (abs(row.contribution) for row in explanation.features), reverse=True
    )
    for row in explanation.features:
        assert row.contribution == pytest.approx(row.value * row.weight, rel=1e-12)
    if explanation.examples is not None:
        total = math.fsum(row.contribution for row in explanation.examples)
        assert total == pytest.approx(explanation.difference, rel=1e-9, abs=1e-12)
    return explanation.difference


TAGGERS = {
    "words": {"features": "words"},
    "start and end": {"features": "tagging", "start_end": True},
    "hashed": {"features": "tagging", "hash_bits": 12},
    "order 2": {"features": "words", "order": 2},
}


@pytest.fixture(scope="module", params=TAGGERS)
def tagger(request):
    return SequenceTagger("dcd-ssvm", tol=0.3, warm_start=True, **TAGGERS[request.param]).fit(WORDS, TAGS)


def test_a_labelling_is_ahead_of_the_second_best_by_the_sum_of_its_rows(tagger):
    for x in WORDS[:5]:
        if tagger.order == 2:
            with pytest.raises(InputError, match="order 2"):
                tagger.explain(x)
            continue
        (first, second) = tagger.predict_k_best([x], k=2)[0]
        found = tagger.explain(x)
        assert (found.output, found.instead) == (first[0], second[0])
        assert sums(found) == pytest.approx(first[1] - second[1], rel=1e-9)


def test_a_label_is_compared_with_another_of_its_token(tagger):
    x = WORDS[0]
    best = tagger.predict_single(x)
    behind = {}
    for label in tagger.classes_:
        found = tagger.explain(x, token=1, instead=label)
        assert (found.output, found.instead) == (best[1], label)
        behind[label] = sums(found)
    assert behind.pop(best[1]) == 0
    assert min(behind.values()) >= 0
    second = tagger.explain(x, token=1)
    assert sums(second) == pytest.approx(min(behind.values()))
    gold = [label for label in tagger.classes_ if label != best[0]][:1] + best[1:]
    assert sums(tagger.explain(x, gold)) >= 0
    assert not tagger.explain(x, best).features


def test_hashed_features_have_the_names_of_others():
    plain = SequenceTagger("perceptron", features="tagging", max_iter=2).fit(WORDS, TAGS)
    hashed = SequenceTagger("perceptron", features="tagging", max_iter=2, hash_bits=14).fit(WORDS, TAGS)
    for x in WORDS[:5]:
        for own, other in zip(plain.features_of(x), hashed.features_of(x), strict=True):
            assert sorted(row.feature for row in own) == sorted(row.feature for row in other)
    words = hashed.features_of(["the"])[0]
    assert any("the" in row.feature for row in words)
    assert all(row.value == 1 for row in words)


def test_values_count(tmp_path):
    X = [[{"x": 0.5 * i, "b": 2.0} for i in range(3)] for _ in range(10)]
    tagger = SequenceTagger("dcd-ssvm", tol=0.5).fit(X, [["A", "B", "B"]] * 10)
    (first, second) = tagger.predict_k_best(X[:1], k=2)[0]
    assert sums(tagger.explain(X[0])) == pytest.approx(first[1] - second[1], rel=1e-9)
    assert {row.feature: row.value for row in tagger.features_of(X[0])[1]} == {"x": 0.5, "b": 2.0}
    dense = [np.array([[0.0, 2.0], [1.5, 0.0]])] * 4
    tagger = SequenceTagger("dcd-ssvm", tol=0.5).fit(dense, [["A", "B"]] * 4)
    (first, second) = tagger.predict_k_best(dense[:1], k=2)[0]
    assert sums(tagger.explain(dense[0])) == pytest.approx(first[1] - second[1], rel=1e-9)


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "fsmo", "shrinking-dcd"])
def test_labels_are_split_by_the_sentences_that_taught_them(algorithm):
    tagger = SequenceTagger(algorithm, features="words", tol=0.3, warm_start=True).fit(WORDS, TAGS)
    found = tagger.explain(WORDS[0], training=(WORDS, TAGS))
    sums(found)
    rest = next(row for row in found.examples if row.example is None)
    assert rest.text == REST
    if algorithm != "shrinking-dcd":  # which averages weights
        assert rest.contribution == pytest.approx(0, abs=1e-9 * (1 + abs(found.difference)))
    assert any(row.example is not None for row in found.examples)
    for row in found.examples:
        if row.example is not None:
            assert row.text == " ".join(WORDS[row.example])


PARSERS = {
    "first order": {},
    "labels": {"labelled": True, "label_stage": "arc"},
    "siblings and labels": {"order": 2, "labelled": True, "label_stage": "arc"},
    "names kept": {"hash_bits": None, "labelled": True, "label_stage": "arc", "order": 2},
    "crossing arcs": {"projective": False},
}


@pytest.mark.parametrize("kind", PARSERS)
def test_a_tree_is_ahead_of_the_second_best_by_the_sum_of_its_rows(kind):
    options = {"hash_bits": 12, **PARSERS[kind]}
    labelled = bool(options.get("labelled"))
    trees = TREES if labelled else [[head for head, _ in tree] for tree in TREES]
    parser = DependencyParser("dcd-ssvm", max_iter=2, tol=0.9, warm_start=True, **options).fit(SENTENCES, trees)
    for x in SENTENCES[:3]:
        (first, second) = parser.predict_k_best([x], k=2)[0]
        found = parser.explain(x)
        assert (found.output, found.instead) == (first[0], second[0])
        assert sums(found) == pytest.approx(first[1] - second[1], rel=1e-8)
        assert not any("hash" in row.feature for row in found.features)
        explained = 0
        for token in range(len(x)):
            with suppress(InputError):  # where no other head makes a tree
                arc = parser.explain(x, token=token)
                assert arc.output == first[0][token] != arc.instead
                assert sums(arc) >= -1e-9
                explained += 1
        assert explained
    with_examples = parser.explain(SENTENCES[0], training=(SENTENCES, trees))
    sums(with_examples)
    rest = next(row for row in with_examples.examples if row.example is None)
    assert abs(rest.contribution) <= 1e-9 * (1 + abs(with_examples.difference))


def test_training_trees_that_were_repaired_are_found_again():
    X, y = make_treebank(30, seed=3, nonprojective=0.4)
    options = {"hash_bits": 12, "max_iter": 2, "tol": 0.9, "warm_start": True}
    with pytest.warns(InputWarning):
        parser = DependencyParser("dcd-ssvm", labelled=True, **options).fit(X, y)
    with pytest.warns(InputWarning):
        sums(parser.explain(X[0], training=(X, y)))


def test_arcs_have_their_features_with_weights():
    parser = DependencyParser("dcd-ssvm", max_iter=2, tol=0.9, hash_bits=12, labelled=True).fit(SENTENCES, TREES)
    x = SENTENCES[0]
    found = parser.features_of(x, 0, 0)
    assert any("[h]" in row.feature or "[m]" in row.feature for row in found)
    assert {label for row in found for label in row.weights} <= {"arc", *map(str, parser.classes_)}
    for head, token in ((1, 0), (0, len(x)), (len(x) + 1, 0)):
        with pytest.raises(InputError, match="no arc"):
            parser.features_of(x, head, token)


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_classes_are_split_by_feature_and_by_row(make):
    X = make(ROWS)
    classifier = MulticlassClassifier("dcd-ssvm", warm_start=True, C=1.0).fit(X, CLASSES)
    scores = classifier.decision_function(X)
    for i in range(5):
        ranked = sorted(scores[i], reverse=True)
        found = classifier.explain(X[i], training=(X, CLASSES))
        assert sums(found) == pytest.approx(ranked[0] - ranked[1], rel=1e-9)
        rest = next(row for row in found.examples if row.example is None)
        assert abs(rest.contribution) <= 1e-9 * (1 + abs(found.difference))
        for name, score in zip(classifier.classes_, scores[i], strict=True):
            assert sums(classifier.explain(X[i], instead=name)) == pytest.approx(ranked[0] - score, abs=1e-9)
    assert {row.feature for row in classifier.features_of(X[0])} >= {"intercept"}


@pytest.mark.parametrize("options", [{}, {"algorithm": "dcd-ssvm"}, {"algorithm": "dcd-ssvm", "interactions": "tree"}])
def test_label_sets_are_split_by_feature_and_by_row(options):
    classifier = MultilabelClassifier(warm_start=True, C=1.0, **options).fit(ROWS, SETS)
    for i in range(5):
        (first, second) = classifier.predict_k_best(ROWS[i : i + 1], k=2)[0]
        found = classifier.explain(ROWS[i], training=(ROWS, SETS))
        assert (sorted(first[0]), sorted(second[0])) == (found.output, found.instead)
        assert sums(found) == pytest.approx(first[1] - second[1], rel=1e-9)
        shares = [row for row in found.examples if row.example is not None]
        rest = next(row for row in found.examples if row.example is None)
        assert shares
        if options:
            assert abs(rest.contribution) <= 1e-9 * (1 + abs(found.difference))
        assert sums(classifier.explain(ROWS[i], instead=first[0])) == 0


def test_explanations_become_plain_values_text_and_html():
    classifier = MulticlassClassifier("dcd-ssvm", warm_start=True).fit(ROWS, CLASSES)
    found = classifier.explain(ROWS[0], training=(ROWS, CLASSES))
    plain = found.to_dict()
    assert plain["difference"] == found.difference
    assert plain["features"][0]["feature"] == found.features[0].feature
    assert plain["examples"][0]["text"] == found.examples[0].text
    assert "contribution" in repr(found)
    assert found.features[0].feature in repr(found)
    page = found._repr_html_()
    assert page.count("<table>") == 2
    assert "<td>" in page
    shortened = found.tables(1)[0][1]
    assert shortened[-1][-1] == f"{len(found.features) - 1} more"
    assert classifier.features_of(ROWS[0])[0].to_dict()["value"]


def test_bad_requests_are_rejected_in_a_sentence():
    tagger = SequenceTagger("dcd-ssvm", features="words", tol=0.5, warm_start=True).fit(WORDS, TAGS)
    x = WORDS[0]
    plain = SequenceTagger("dcd-ssvm", features="words", tol=0.5).fit(WORDS, TAGS)
    online = SequenceTagger("perceptron", features="words", max_iter=1, warm_start=True).fit(WORDS, TAGS)
    whole = SequenceTagger("one-slack", features="words", max_iter=3, warm_start=True).fit(WORDS, TAGS)
    parser = DependencyParser(method="transition", hash_bits=12, max_iter=1).fit(SENTENCES, TREES)
    tree = DependencyParser(hash_bits=12, max_iter=1, tol=0.9).fit(SENTENCES, [[h for h, _ in t] for t in TREES])
    classifier = MulticlassClassifier().fit(ROWS, CLASSES)
    other = MulticlassClassifier("dcd-ssvm", warm_start=True).fit(ROWS, CLASSES)
    other.model_.state = MulticlassClassifier("dcd-ssvm", warm_start=True).fit(-ROWS, CLASSES).model_.state
    cases = [
        (lambda: tagger.explain(x, token=1, instead="NONE"), "NONE"),
        (lambda: tagger.explain(x, token=len(x)), "no token"),
        (lambda: tagger.explain(x, instead="NOUN"), "name the token"),
        (lambda: tagger.explain(x, ["NOUN"]), "labels"),
        (lambda: plain.explain(x, training=(WORDS, TAGS)), "no saved state"),
        (lambda: online.explain(x, training=(WORDS, TAGS)), "no dual variables|no saved state"),
        (lambda: whole.explain(x, training=(WORDS, TAGS)), "over all examples"),
        (lambda: tagger.explain(x, training=(WORDS[1:], TAGS[1:])), "not those that the state belongs to"),
        (lambda: parser.explain(SENTENCES[0]), "method=transition"),
        (lambda: tree.explain(SENTENCES[0], token=0, instead=1), "no tree"),
        (lambda: tree.explain(SENTENCES[0], token=0, instead="nsubj"), "have none"),
        (lambda: tree.explain(SENTENCES[0], [1] * len(SENTENCES[0])), "the gold tree is none"),
        (lambda: classifier.explain(ROWS[0], instead="z"), "z"),
        (lambda: other.explain(ROWS[0], training=(ROWS, CLASSES)), "other weights"),
    ]
    for ask, text in cases:
        with pytest.raises(InputError, match=text) as caught:
            ask()
        assert "\n" not in str(caught.value)
