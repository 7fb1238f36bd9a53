"""The estimator for entities and relations: constraints, losses, models, taggers, and scores."""

import itertools

import numpy as np
import pytest

import marginloom
from marginloom import InputError, RelationExtractor, SequenceTagger, make_relations
from marginloom.errors import InputWarning
from marginloom.tasks.relations.metrics import relation_scores

TRAIN, TEST = make_relations(150, seed=0), make_relations(60, seed=1)


@pytest.fixture(scope="module")
def extractor():
    return RelationExtractor("dcd-ssvm", C=0.5).fit(TRAIN)


def test_types_and_relations_are_learnt(extractor):
    scores = extractor.evaluate(TEST)
    assert scores["entity_f1"] > 0.95
    assert scores["relation_f1"] > 0.85
    assert extractor.certificate_.exact
    assert extractor.score(TEST) == scores["relation_f1"]
    assert extractor.classes_ == ["Loc", "Org", "Other", "Peop"]
    assert extractor.relations_ == ["Kill", "Live_In", "Located_In", "OrgBased_In", "Work_For"]
    assert ("Live_In", "Peop", "Loc") in extractor.relation_types_


def test_predictions_keep_to_the_table(extractor):
    random = RelationExtractor("dcd-ssvm", max_iter=1, tol=0.9).fit(TRAIN)
    random.model_.weights = np.random.default_rng(0).normal(size=random.model_.weights.size)
    seen = 0
    for sentence in random.predict(TEST):
        for relation in sentence["relations"]:
            types = (sentence["entities"][relation[end]]["type"] for end in ("head", "tail"))
            assert (relation["type"], *types) in random.relation_types_
            seen += 1
    assert seen > 50


def test_both_directions_may_hold():
    ends = [{"type": "A", "start": 0, "end": 1}, {"type": "A", "start": 1, "end": 2}]
    both = [{"type": "near", "head": 0, "tail": 1}, {"type": "near", "head": 1, "tail": 0}]
    X = [{"tokens": ["x", "y"], "entities": ends, "relations": both}]
    assert RelationExtractor("dcd-ssvm", C=1.0).fit(X).predict(X)[0]["relations"] == both


@pytest.mark.parametrize("constraints", ["both", "predict", "none"])
def test_constraints_count_where_they_should(constraints):
    found = RelationExtractor("dcd-ssvm", type_constraints=constraints, max_iter=1, tol=0.9).fit(TRAIN)
    random = np.random.default_rng(1).normal(size=found.model_.weights.size)
    found.model_.weights = random
    broken = 0
    for sentence in found.predict(TEST):
        for relation in sentence["relations"]:
            types = (sentence["entities"][relation[end]]["type"] for end in ("head", "tail"))
            broken += (relation["type"], *types) not in found.relation_types_
    assert (broken > 0) == (constraints == "none")


def test_training_without_constraints_is_independent():
    free = RelationExtractor("dcd-ssvm", type_constraints="none", tol=1e-3, C=0.5).fit(TRAIN)
    later = RelationExtractor("dcd-ssvm", type_constraints="predict", tol=1e-3, C=0.5).fit(TRAIN)
    joint = RelationExtractor("dcd-ssvm", tol=1e-3, C=0.5).fit(TRAIN)
    assert free.model_.weights.tobytes() == later.model_.weights.tobytes()
    assert joint.certificate_.primal < free.certificate_.dual  # fewer outputs to be better than


def test_a_table_without_effect_is_refused():
    with pytest.raises(InputError, match=r"the table in relation_types .* has no effect"):
        RelationExtractor(relation_types=[("Kill", "Peop", "Peop")], type_constraints="none").fit(TRAIN)
    with pytest.raises(InputError, match="type_constraints must be one of both, predict, none, not 'never'"):
        RelationExtractor(type_constraints="never").fit(TRAIN)


def test_a_larger_loss_of_missed_relations_raises_recall():
    recalls = [
        RelationExtractor("dcd-ssvm", C=0.001, missed_relation_loss=loss).fit(TRAIN).evaluate(TEST)["relation_recall"]
        for loss in (0.3, 3.0)
    ]
    assert recalls[1] > recalls[0]


def test_an_entity_type_none_takes_part_in_no_relation_and_counts_as_nothing():
    X = []
    for sentence in make_relations(60, seed=2):
        related = {relation[end] for relation in sentence["relations"] for end in ("head", "tail")}
        kinds = [
            {**entity, "type": entity["type"] if number in related or entity["type"] != "Other" else "none"}
            for number, entity in enumerate(sentence["entities"])
        ]
        X.append({**sentence, "entities": kinds})
    extractor = RelationExtractor("dcd-ssvm", C=0.5).fit(X)
    assert "none" in extractor.classes_
    assert not any("none" in line for line in extractor.relation_types_)
    assert "none" not in extractor.evaluate(X)["per_label"]


@pytest.mark.parametrize("constraints", ["both", "predict", "none"])
def test_spans_that_are_no_entities_are_never_related(constraints):
    X = []
    for sentence in make_relations(60, seed=2):
        kinds = [{**one, "type": "none" if one["type"] == "Loc" else one["type"]} for one in sentence["entities"]]
        X.append({**sentence, "entities": kinds})
    broken = sum(
        any(s["entities"][r[end]]["type"] == "none" for end in ("head", "tail")) for s in X for r in s["relations"]
    )
    options = {"type_constraints": constraints, "C": 0.5}
    with pytest.raises(InputError, match=rf"{broken} gold relations cannot .* one of which has the type 'none'"):
        RelationExtractor("dcd-ssvm", **options).fit(X)
    with pytest.warns(InputWarning, match=f"{broken} gold relations of .* cannot be predicted: dropped"):
        extractor = RelationExtractor("dcd-ssvm", invalid_gold="repair", **options).fit(X)
    assert not any("none" in line for line in extractor.relation_types_)
    extractor.model_.weights = np.random.default_rng(0).normal(size=extractor.model_.weights.size)
    found = extractor.predict(TEST)
    ends = [s["entities"][r[end]]["type"] for s in found for r in s["relations"] for end in ("head", "tail")]
    assert len(ends) > 50
    assert "none" not in ends
    assert any(one["type"] == "none" for s in found for one in s["entities"])


@pytest.mark.parametrize("options", [{}, {"hash_bits": 12}, {"relation_types": [
    ("Kill", "Peop", "Peop"), ("Live_In", "Peop", "Loc"), ("Located_In", "Loc", "Loc"), ("OrgBased_In", "Org", "Loc"),
    ("Work_For", "Peop", "Org")]}, {"solver": "native", "node_limit": 100}])  # fmt: skip
def test_models_are_the_same_after_they_were_saved(tmp_path, options):
    first = RelationExtractor("dcd-ssvm", missed_relation_loss=2.0, **options).fit(TRAIN)
    first.save(tmp_path / "model")
    again = marginloom.load(tmp_path / "model")
    assert again.predict(TEST) == first.predict(TEST)
    assert again.get_params() == first.get_params()
    assert again.fit(TRAIN).model_.weights.tobytes() == first.model_.weights.tobytes()
    described = again.model_.strongest(2)
    assert {row["label"] for row in described} >= ({"Peop", "relation Kill", "relation none"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "gurobi"}, "solver must be one of native, ilp, not 'gurobi'"),
        ({"solver": "ilp", "node_limit": 5}, "node_limit .* is for the solver native"),
        ({"time_limit": 5}, "time_limit .* is for the solver ilp"),
        ({"node_limit": -1}, "node_limit must be"),
        ({"solver": "ilp", "time_limit": -1}, "time_limit must be"),
        ({"missed_relation_loss": -1}, "missed_relation_loss must be"),
        ({"entity_loss": 0, "pair_loss": 0, "missed_relation_loss": 0}, "are all 0"),
        ({"min_count": 0}, "min_count must be"),
        ({"hash_bits": 40}, "hash_bits must be"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        RelationExtractor(**options).fit(TRAIN)


def test_a_solver_that_is_not_installed_is_named(monkeypatch):
    import scipy.optimize

    monkeypatch.delattr(scipy.optimize, "milp")
    with pytest.raises(InputError, match=r"the solver ilp needs scipy.optimize.milp, which is not installed"):
        RelationExtractor(solver="ilp").fit(TRAIN)


def test_warm_starts_go_on_with_another_table():
    made = RelationExtractor("dcd-ssvm", warm_start=True, type_constraints="none", tol=1e-3).fit(TRAIN)
    first = made.certificate_
    made.set_params(type_constraints="both").fit(TRAIN)
    assert made.certificate_.exact
    assert made.certificate_.dual <= made.certificate_.primal <= first.primal * (1 + 1e-6)


@pytest.fixture(scope="module", params=["words", "columns", "numbers"])
def tagger(request):
    rows, labels = [], []
    for sentence in TRAIN:
        tags = ["O"] * len(sentence["tokens"])
        for entity in sentence["entities"]:
            tags[entity["start"] : entity["end"]] = ["B-" + entity["type"]] + ["I-" + entity["type"]] * (
                entity["end"] - entity["start"] - 1
            )
        labels.append(tags)
        pairs = list(zip(sentence["tokens"], sentence["pos"], strict=True))
        rows.append({"words": sentence["tokens"], "columns": pairs}.get(request.param, [(w, "_", p) for w, p in pairs]))
    options = {
        "words": {"features": "tagging"},
        "columns": {"features": "ner", "columns": ("form", "upos"), "pos_column": "upos"},
        "numbers": {"features": "ner", "pos_column": 3},
    }[request.param]
    return SequenceTagger("dcd-ssvm", **options).fit(rows, labels)


def test_spans_may_come_from_a_tagger(extractor, tagger):
    bare = [{name: sentence[name] for name in ("tokens", "pos")} for sentence in TEST]
    found = extractor.predict(bare, spans=tagger)
    scores = relation_scores(TEST, found)
    assert scores["relation_f1"] > 0.8
    assert scores["relation_f1"] >= scores["relation_f1_strict"]
    same = extractor.evaluate(TEST, spans=tagger)
    assert {name: same[name] for name in ("entity_f1", "relation_f1", "relation_macro_f1")} == {
        name: scores[name] for name in ("entity_f1", "relation_f1", "relation_macro_f1")
    }
    spans = (
        tagger.model_.predict_spans([sentence["tokens"] for sentence in TEST]) if tagger.columns_ == ("form",) else None
    )
    for sentence, one in zip(found, spans or [], strict=False):
        assert [(e["start"], e["end"]) for e in sentence["entities"]] == [(start, end) for _, start, end in one]


def test_missed_spans_cost_recall_and_spurious_ones_precision(extractor):
    class Fixed:
        columns = ("form",)

        def __init__(self, spans):
            self.spans = spans

        def predict_spans(self, source, n_threads=1):
            return [self.spans(sentence) for sentence in TEST]

    def gold(sentence):
        return [(e["type"], e["start"], e["end"]) for e in sentence["entities"]]

    def and_the_last_word(sentence):
        return [*gold(sentence), ("Peop", len(sentence["tokens"]) - 1, len(sentence["tokens"]))]

    whole, half = (extractor.evaluate(TEST, spans=Fixed(f)) for f in (gold, lambda sentence: gold(sentence)[1:]))
    more = extractor.evaluate(TEST, spans=Fixed(and_the_last_word))
    for name in ("entity_f1", "relation_f1", "relation_f1_strict"):
        assert whole[name] == extractor.evaluate(TEST)[name]
    assert half["entity_recall"] < whole["entity_recall"]
    assert more["entity_precision"] < whole["entity_precision"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: "tagger", "spans is str; give a fitted SequenceTagger"),
        (lambda: RelationExtractor("dcd-ssvm").fit(TRAIN), "spans is RelationExtractor; give a fitted"),
        (
            lambda: SequenceTagger("dcd-ssvm", features="words").fit([["a", "b"]], [["N", "V"]]),
            "the labels of the tagger mark no spans: N, V",
        ),
        (
            lambda: SequenceTagger("dcd-ssvm").fit([[{"a": 1.0}]], [["B-X"]]),
            "the tagger reads ready features, and sentences here have tokens and tags",
        ),
    ],
)
def test_what_finds_no_spans_is_refused(extractor, make, message):
    with pytest.raises(InputError, match=message):
        extractor.predict(TEST, spans=make())


def test_a_tagger_that_reads_other_columns_is_refused(extractor, tmp_path):
    (tmp_path / "t").write_text("column[0,lemma]\n")
    tagger = SequenceTagger("dcd-ssvm", features=str(tmp_path / "t"), columns=("form", "lemma"))
    tagger.fit([[("a", "b")]], [["B-X"]])
    with pytest.raises(InputError, match="the tagger reads the column lemma, and sentences here have tokens and pos"):
        extractor.predict(TEST, spans=tagger)


def test_early_stopping_looks_at_relations():
    extractor = RelationExtractor("averaged-perceptron", max_iter=4)
    extractor.fit(TRAIN, eval_set=(TEST, None))
    assert next(iter(extractor.history_[0]["scores"]["dev"])) == "relation_f1"
    with pytest.raises(InputError, match="eval_set must be a tuple"):
        extractor.fit(TRAIN, eval_set=TEST)


def enumerated_scores(gold, predicted):
    """Score by lists instead of sets."""
    found = {}
    for level in ("entity_f1", "relation_f1", "relation_f1_strict"):
        both = truths = guesses = 0
        for right, guess in zip(gold, predicted, strict=True):
            items = [list(_items(sentence, level)) for sentence in (right, guess)]
            truths, guesses = truths + len(items[0]), guesses + len(items[1])
            both += sum(item in items[0] for item in items[1])
        found[level] = 2 * both / (truths + guesses)
    return found


def _items(sentence, level):
    spans = [(e["start"], e["end"]) for e in sentence["entities"]]
    if level == "entity_f1":
        yield from ((e["type"], *span) for e, span in zip(sentence["entities"], spans, strict=True))
        return
    for relation in sentence["relations"]:
        ends = [(spans[relation[end]], sentence["entities"][relation[end]]["type"]) for end in ("head", "tail")]
        yield relation["type"], *(end if level.endswith("strict") else end[0] for end in ends)


def test_scores_are_those_of_counting(extractor):
    weak = RelationExtractor("perceptron", max_iter=1, type_constraints="none").fit(TRAIN[:20])
    for model, sentences in itertools.product((extractor, weak), (TRAIN, TEST)):
        found = relation_scores(sentences, model.predict(sentences))
        for name, value in enumerated_scores(sentences, model.predict(sentences)).items():
            assert found[name] == pytest.approx(value)
    with pytest.raises(InputError, match="gold has 1 sentences and predicted has 2"):
        relation_scores(TEST[:1], TEST[:2])
