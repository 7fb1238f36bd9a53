"""What sentences may look like, and what is said of those that do not."""

import copy
import json

import pytest

from marginloom import InputError, RelationExtractor, make_relations, read_relations, write_relations
from marginloom.errors import InputWarning
from marginloom.tasks.relations.records import checked_sentences

GOOD = {
    "id": 7,
    "tokens": ["Ann", "of", "Ulm", "met", "Bo", "Lind"],
    "pos": ["NNP", "IN", "NNP", "VBD", "NNP", "NNP"],
    "entities": [
        {"type": "Peop", "start": 4, "end": 6},
        {"type": "Loc", "start": 2, "end": 3},
        {"type": "Peop", "start": 0, "end": 1},
    ],
    "relations": [{"type": "Live_In", "head": 2, "tail": 1}],
}


def changed(change):
    sentence = copy.deepcopy(GOOD)
    change(sentence)
    return sentence


def without(name):
    return lambda sentence: sentence.pop(name)


def put(*path, value):
    def change(sentence):
        place = sentence
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


BAD = [
    (without("tokens"), "found no field 'tokens', expected a list of strings"),
    (put("tokens", value="Ann of Ulm"), "found a string in 'tokens', expected a list of strings"),
    (put("tokens", 1, value=3), "found a list with the number 3 in 'tokens'"),
    (put("tokens", value=None), "found null in 'tokens'"),
    (put("pos", value=["NNP"]), "found 1 tag in 'pos' and 6 tokens, expected as many"),
    (put("pos", value={"a": 1}), "found an object in 'pos'"),
    (without("entities"), r"found no field 'entities', expected a list of objects; .*--spans MODEL"),
    (put("entities", value=3), "found the number 3 in 'entities'"),
    (put("entities", 0, value="Ann"), "found a list with a string in 'entities'"),
    (lambda s: s["entities"][1].pop("end"), "entity 1: found no field 'end', expected a whole number"),
    (put("entities", 1, "end", value="3"), "entity 1: found a string in 'end', expected a whole number"),
    (put("entities", 1, "start", value=1.5), "entity 1: found the number 1.5 in 'start'"),
    (put("entities", 1, "start", value=True), "entity 1: found true or false in 'start'"),
    (put("entities", 1, "end", value=2), "entity 1: found an empty span, from token 2 to before token 2"),
    (put("entities", 1, "end", value=1), "entity 1: found the tokens 2 to 1 of a sentence of 6 tokens"),
    (put("entities", 0, "end", value=7), "entity 0: found the tokens 4 to 7 of a sentence of 6 tokens"),
    (put("entities", 2, "start", value=-1), "entity 2: found the tokens -1 to 1"),
    (put("entities", 1, "end", value=5), r"entity 1: found the tokens 2 to 5, which overlap those of entity 0"),
    (
        lambda s: s["entities"].append({"type": "Org", "start": 2, "end": 3}),
        r"entity 3: found the tokens 2 to 3, which repeat those of entity 1 \(2 to 3\)",
    ),
    (lambda s: s["entities"][0].pop("type"), "entity 0: found no field 'type', expected a string"),
    (put("entities", 0, "type", value=" "), "entity 0: found ' ' in 'type', expected a name"),
    (put("entities", 0, "type", value=4), "entity 0: found the number 4 in 'type'"),
    (without("relations"), r"found no field 'relations', expected a list of objects; add it; \[\] says"),
    (
        put("relations", 0, "head", value=3),
        "relation 0: found entity 3 as an argument, and the sentence has 3 entities",
    ),
    (put("relations", 0, "tail", value=-1), "relation 0: found entity -1 as an argument"),
    (put("relations", 0, "tail", value=2), "relation 0: found entity 2 as both head and tail"),
    (put("relations", 0, "tail", value=None), "relation 0: found null in 'tail'"),
    (lambda s: s["relations"][0].pop("type"), "relation 0: found no field 'type'"),
    (put("relations", 0, "type", value="none"), "relation 0: found the type 'none', which says that there is no"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_what_is_wrong_is_told_with_its_place(change, message):
    with pytest.raises(InputError, match=rf"^X: sentence 1.*{message}"):
        checked_sentences([GOOD, changed(change)], labelled=True)


@pytest.mark.parametrize(("change", "message"), BAD[::4])
def test_in_files_the_place_is_a_line(change, message, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([json.dumps(GOOD), "", json.dumps(changed(change))]))
    with pytest.raises(InputError, match=rf"x\.jsonl, line 3.*{message}"):
        read_relations(path)


@pytest.mark.parametrize("line", ["{", "[1]", '"text"', "null", "{'tokens': []}", '{"tokens": ["\\ud800"]}'])
def test_lines_that_are_no_sentence_are_told(line, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + line)
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: found .*, expected (a JSON object|an object)"):
        read_relations(path)


def test_entities_may_stand_in_any_order():
    first = RelationExtractor("dcd-ssvm").fit([GOOD] * 3)
    moved = changed(lambda s: None)
    moved["entities"] = [GOOD["entities"][k] for k in (1, 2, 0)]
    moved["relations"] = [{"type": "Live_In", "head": 1, "tail": 0}]
    second = RelationExtractor("dcd-ssvm").fit([moved] * 3)
    assert first.model_.weights.tobytes() == second.model_.weights.tobytes()
    one, other = first.predict([GOOD])[0], first.predict([moved])[0]
    assert [entity["start"] for entity in one["entities"]] == [4, 2, 0]
    assert [entity["start"] for entity in other["entities"]] == [2, 0, 4]
    assert (one["relations"], other["relations"]) == (GOOD["relations"], moved["relations"])


def test_sentences_without_tokens_or_entities_are_examples_like_others():
    empty = [{"tokens": [], "entities": [], "relations": []}, {"tokens": ["it"], "entities": [], "relations": []}]
    one = {"tokens": ["Ulm"], "entities": [{"type": "Loc", "start": 0, "end": 1}], "relations": []}
    X = [{**sentence, "pos": None} for sentence in [*empty, GOOD, one, *make_relations(20)]]
    extractor = RelationExtractor("dcd-ssvm").fit(X)
    found = extractor.predict(X)
    assert [len(sentence["entities"]) for sentence in found] == [len(sentence["entities"]) for sentence in X]
    assert extractor.evaluate(empty)["entity_f1"] == 0.0
    assert extractor.predict([]) == []


def test_gold_may_be_given_beside_sentences():
    X = [{name: GOOD[name] for name in ("tokens", "pos")} | {"entities": GOOD["entities"]}]
    extractor = RelationExtractor("dcd-ssvm").fit(X, [{"relations": GOOD["relations"]}])
    assert extractor.score([GOOD]) == extractor.score(X, [GOOD])
    for wrong in ([], [GOOD, GOOD], [3]):
        with pytest.raises(InputError, match="y"):
            extractor.score(X, wrong)


@pytest.mark.parametrize("X", ["text", 3, {"tokens": []}])
def test_sentences_must_be_a_list(X):
    with pytest.raises(InputError, match="give a list of sentences, each a dict"):
        RelationExtractor().fit(X)


def test_gold_that_cannot_be_predicted_is_an_error_or_repaired_or_skipped():
    twice = changed(lambda s: s["relations"].append({"type": "Kill", "head": 2, "tail": 1}))
    forbidden = changed(put("relations", 0, "tail", value=0))
    X, table = [GOOD, twice, forbidden], [("Live_In", "Peop", "Loc"), ("Kill", "Peop", "Peop")]
    with pytest.raises(
        InputError,
        match=r"2 gold relations cannot be predicted: X: sentence 1: found the relations Live_In and Kill, both from "
        r"entity 2 to entity 1; X: sentence 2: found the relation Live_In from entity 2 to entity 0, whose types Peop "
        r"and Peop the table does not allow",
    ):
        RelationExtractor(relation_types=table).fit(X)
    with pytest.warns(InputWarning, match="2 gold relations of 2 of 3 sentences cannot be predicted: dropped"):
        repaired = RelationExtractor("dcd-ssvm", relation_types=table, invalid_gold="repair").fit(X)
    assert repaired.relations_ == ["Kill", "Live_In"]
    with pytest.warns(InputWarning, match="2 gold relations of 2 of 3 sentences .* the sentences are left out"):
        skipped = RelationExtractor("dcd-ssvm", relation_types=table, invalid_gold="skip").fit(
            X, sample_weight=[1, 2, 3]
        )
    assert skipped.relation_types_ == sorted(table)
    with pytest.raises(InputError, match="invalid_gold must be one of error, repair, skip, not 'drop'"):
        RelationExtractor(invalid_gold="drop").fit(X)
    with pytest.raises(InputError, match="1 gold relation cannot be predicted: X: sentence 0: found the relations"):
        RelationExtractor().fit([twice])
    with pytest.raises(InputError, match=r"1 gold relation of 1 of 1 sentences .* skipping these leaves no sentence"):
        RelationExtractor(invalid_gold="skip").fit([twice])


def test_evaluation_counts_gold_that_cannot_be_predicted_as_missed():
    extractor = RelationExtractor("dcd-ssvm", C=1.0).fit([GOOD] * 3)
    twice = changed(lambda s: s["relations"].append({"type": "Kill", "head": 2, "tail": 1}))
    assert extractor.evaluate([GOOD])["relation_recall"] == 1.0
    assert extractor.evaluate([twice])["relation_recall"] == 0.5


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([("Live_In", "Peop", "Dog")], r"relation_types\[0\]: found the type 'Dog', which no training entity has"),
        ([("Lives", "Peop", "Loc")], r"relation_types\[0\]: found the relation 'Lives', which the training data"),
        ([], "relation_types is empty; a table must allow a relation"),
        ([("Live_In", "Peop", "none")], r"relation_types\[0\]: found the type 'none', which is for spans that are no"),
        ([("Live_In", "Peop")], r"relation_types\[0\] is \('Live_In', 'Peop'\); give a tuple"),
        ([3], r"relation_types\[0\] is 3; give a tuple"),
        (3, "relation_types must be tuples"),
    ],
)
def test_a_table_that_names_nothing_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        RelationExtractor(relation_types=table).fit([GOOD])


def test_a_table_may_come_from_a_file(tmp_path):
    path = tmp_path / "types.txt"
    path.write_text("# who lives where\n\nLive_In\tPeop\tLoc\nLive_In Loc Loc\n")
    extractor = RelationExtractor("dcd-ssvm", relation_types=path).fit([GOOD])
    assert extractor.relation_types_ == [("Live_In", "Loc", "Loc"), ("Live_In", "Peop", "Loc")]
    for text, message in (
        ("Live_In Peop\n", r"types\.txt, line 1: found 'Live_In Peop', expected RELATION HEAD TAIL"),
        ("# none\n", r"types\.txt: found no line, expected RELATION HEAD TAIL"),
        ("\nLive_In Peop Cat", r"types\.txt, line 2: found the type 'Cat'"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            RelationExtractor(relation_types=path).fit([GOOD])


def test_training_needs_entities_and_warns_without_relations():
    with pytest.raises(InputError, match="the training sentences have no entity, so there is nothing to learn"):
        RelationExtractor().fit([{"tokens": ["it"], "entities": [], "relations": []}])
    with pytest.warns(InputWarning, match="the training sentences have no relation"):
        extractor = RelationExtractor("dcd-ssvm").fit([changed(put("relations", value=[]))])
    assert extractor.predict([GOOD])[0]["relations"] == []


def test_tags_of_some_sentences_only_are_not_used_and_told():
    with pytest.warns(InputWarning, match="1 of 3 sentences have no field 'pos', so that no tags are used"):
        extractor = RelationExtractor("dcd-ssvm").fit([GOOD, GOOD, changed(without("pos"))])
    assert not extractor.model_.features.reads_pos


def test_types_that_training_did_not_have_count_as_wrong():
    extractor = RelationExtractor("dcd-ssvm").fit([GOOD])
    strange = changed(put("entities", 0, "type", value="Alien"))
    strange["relations"][0]["type"] = "Eats"
    evaluator = extractor.model_.evaluator(_labelled(strange))
    assert evaluator.unseen == {"Alien": 1, "Eats": 1}
    scores = evaluator.report(extractor.model_.weights)
    assert scores["entity_recall"] == pytest.approx(2 / 3)
    assert scores["relation_f1"] == 0.0
    with pytest.warns(InputWarning, match=r"y: labels that training did not see .*: Alien \(1\), Eats \(1\)"):
        assert extractor.evaluate([strange])["relation_f1"] == 0.0
    with pytest.warns(InputWarning, match=r"dev: labels that training did not see .*: Alien \(1\), Eats \(1\)"):
        extractor.fit([GOOD], eval_set=([strange], None))


def _labelled(*sentences):
    from marginloom.tasks.relations.evaluator import Labelled

    return Labelled(checked_sentences(list(sentences), labelled=True))


def test_files_keep_what_they_are_given(tmp_path):
    made = make_relations(5)
    write_relations(tmp_path / "x.jsonl.xz", [*made, GOOD])
    assert read_relations(tmp_path / "x.jsonl.xz") == [*made, GOOD]
    with pytest.raises(InputError, match="cannot be written as JSON"):
        write_relations(tmp_path / "y", [{"tokens": [], "entities": [], "more": {1, 2}}])


def test_the_generator_makes_the_same_sentences_for_a_seed():
    assert make_relations(20, seed=3) == make_relations(20, seed=3) != make_relations(20, seed=4)
    made = make_relations(300, noise=0)
    assert any(not sentence["entities"] for sentence in made)
    assert any(len(sentence["entities"]) == 1 for sentence in made)
    assert {relation["type"] for s in made for relation in s["relations"]} >= {"Kill", "Live_In", "Work_For"}
    assert any(relation["head"] > relation["tail"] for s in made for relation in s["relations"])
    for wrong in ({"sentences": -1}, {"noise": 2}, {"seed": -1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            make_relations(**{"sentences": 1, **wrong})
