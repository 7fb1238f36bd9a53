"""Entities and relations on the command line: JSON lines in and out."""

import json

import pytest
from support.program import fails, last_json, refuses, run

from marginloom import RelationExtractor, SequenceTagger, make_relations, write_relations

QUICK = ["--C", "0.5", "--algorithm", "dcd-ssvm", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with train, dev and test, a table of types, a model, and a tagger of spans."""
    folder = tmp_path_factory.mktemp("relations")
    for name, count, seed in (("train", 80, 0), ("dev", 30, 1), ("test", 30, 2)):
        write_relations(
            folder / f"{name}.jsonl", [{"id": k, **one} for k, one in enumerate(make_relations(count, seed=seed))]
        )
    (folder / "types.txt").write_text(
        "Kill Peop Peop\nLive_In Peop Loc\nLocated_In Loc Loc\nOrgBased_In Org Loc\nWork_For Peop Org\n"
    )
    done = run("train", "relations", folder / "train.jsonl", "--model", folder / "model", "--dev", folder / "dev.jsonl",
               "--test", folder / "test.jsonl", "--json", *QUICK)  # fmt: skip
    (folder / "summary.json").write_text(done.stdout)
    SequenceTagger("dcd-ssvm").fit(*bio(folder / "train.jsonl")).save(folder / "tagger")
    return folder


def bio(path):
    words, labels = [], []
    for line in path.read_text().splitlines():
        sentence = json.loads(line)
        tags = ["O"] * len(sentence["tokens"])
        for entity in sentence["entities"]:
            for place in range(entity["start"], entity["end"]):
                tags[place] = ("B-" if place == entity["start"] else "I-") + entity["type"]
        words.append(sentence["tokens"])
        labels.append(tags)
    return words, labels


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_training_reports_scores_and_a_certificate(folder):
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["exact"]
    assert summary["gap"] <= 0.01
    assert list(summary["scores"]) == ["dev", "test"]
    assert summary["scores"]["test"]["relation_f1"] > 0.8
    names = {"entity_f1", "relation_f1", "relation_f1_strict", "entity_macro_f1", "relation_macro_f1", "per_label"}
    assert names <= summary["scores"]["test"].keys()


def test_scores_in_training_are_legible(folder, tmp_path):
    done = run("train", "relations", folder / "train.jsonl", "--model", tmp_path / "m", "--dev", folder / "dev.jsonl",
               "--test", folder / "test.jsonl", *QUICK[:-1])  # fmt: skip
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert rows["dev"] == ["test"]
    for name in ("relation_f1", "relation_f1_strict", "entity_macro_f1", "relation_recall"):
        assert len(rows[name]) == 2


def test_prediction_writes_the_same_lines_with_types_and_relations(folder):
    given = [
        {**one, "entities": [{**entity, "type": "?", "note": 1} for entity in one["entities"]], "relations": []}
        for one in lines_of((folder / "test.jsonl").read_text())
    ]
    (folder / "bare.jsonl").write_text("\n".join(map(json.dumps, given)))
    found = lines_of(run("predict", folder / "model", folder / "bare.jsonl").stdout)
    expected = RelationExtractor.load(folder / "model").predict(given)
    assert [one["id"] for one in found] == [one["id"] for one in given]
    assert [one["tokens"] for one in found] == [one["tokens"] for one in given]
    assert [one["relations"] for one in found] == [one["relations"] for one in expected]
    for one, right in zip(found, expected, strict=True):
        assert one["entities"] == [{**entity, "note": 1} for entity in right["entities"]]


def test_prediction_reads_standard_input_and_writes_compressed_files(folder, tmp_path):
    out = tmp_path / "out.jsonl.gz"
    run("predict", folder / "model", "-", "-o", out, stdin=(folder / "test.jsonl").read_bytes())
    done = run("evaluate", folder / "model", folder / "test.jsonl", "--json")
    assert last_json(done)["relations"] > 10
    import gzip

    assert len(gzip.open(out).read().splitlines()) == 30


def test_evaluation_shows_every_type(folder):
    said = run("evaluate", folder / "model", folder / "test.jsonl").stdout
    for word in ("sentences", "entities", "relations", "entity_f1", "relation_f1_strict", "Live_In", "Peop"):
        assert word in said


def test_spans_may_come_from_a_tagger(folder):
    bare = [{"tokens": one["tokens"], "pos": one["pos"]} for one in lines_of((folder / "test.jsonl").read_text())]
    (folder / "tokens.jsonl").write_text("\n".join(map(json.dumps, bare)))
    found = lines_of(run("predict", folder / "model", folder / "tokens.jsonl", "--spans", folder / "tagger").stdout)
    assert sum(len(one["relations"]) for one in found) > 10
    scores = last_json(
        run("evaluate", folder / "model", folder / "test.jsonl", "--spans", folder / "tagger", "--json")
    )["scores"]
    assert 0.7 < scores["relation_f1"] <= 1
    assert "expected a list of objects" in fails("predict", folder / "model", folder / "tokens.jsonl")
    assert "this is a model of the task 'relations', expected" in fails(
        "predict", folder / "model", folder / "tokens.jsonl", "--spans", folder / "model"
    )
    assert "tagger" in fails(
        "predict", folder / "model", folder / "tokens.jsonl", "--spans", folder / "tagger", "-o", folder / "tagger"
    )


def test_the_table_that_was_learnt_is_printed_and_shown(folder, tmp_path):
    done = run("train", "relations", folder / "train.jsonl", "--model", tmp_path / "m", "--C", "0.5")
    learnt = (
        "Kill (Peop, Peop), Live_In (Peop, Loc), Located_In (Loc, Loc), OrgBased_In (Org, Loc), Work_For (Peop, Org)"
    )
    assert f"relation types, learnt from training: {learnt}" in " ".join(done.stderr.split())
    assert learnt in " ".join(run("inspect", tmp_path / "m").stdout.split())
    summary = last_json(run("inspect", tmp_path / "m", "--json"))
    assert ["Live_In", "Peop", "Loc"] in summary["relation_types"]
    done = run("train", "relations", folder / "train.jsonl", "--model", tmp_path / "m",
               "--relation-types", folder / "types.txt", "--missed-relation-loss", "2", "--entity-loss", "0.5",
               "--pair-loss", "1.5", "--solver", "native", "--node-limit", "100", "--type-constraints", "predict",
               "--hash-bits", "12")  # fmt: skip
    assert "learnt" not in done.stderr
    said = " ".join(run("inspect", tmp_path / "m").stdout.split())
    assert "entity 0.5, pair 1.5, missed relation 2" in said
    assert "in prediction only" in said


def test_the_integer_program_trains_and_predicts(folder, tmp_path):
    few = tmp_path / "few.jsonl"
    write_relations(few, make_relations(6, seed=3))
    run("train", "relations", few, "--model", tmp_path / "m", "--solver", "ilp", "--time-limit", "5", "--max-iter", "2",
        *QUICK)  # fmt: skip
    assert len(lines_of(run("predict", tmp_path / "m", few).stdout)) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--type-constraints", "never"], "type_constraints must be one of both, predict, none"),
        (["--invalid-gold", "drop"], "--invalid-gold must be one of error, repair, skip"),
        (["--solver", "gurobi"], "solver must be one of native, ilp"),
        (["--solver", "ilp", "--node-limit", "3"], "node_limit (--node-limit) is for the solver native"),
        (["--time-limit", "3"], "time_limit (--time-limit) is for the solver ilp"),
        (["--pair-loss", "-1"], "pair_loss must be a number, 0 or more"),
        (["--features", "arcs"], "there is no feature set 'arcs' for spans"),
        (["--hash-bits", "5", "--min-count", "2"], "with hash_bits no feature is counted"),
        (["--type-constraints", "none", "--relation-types", "types.txt"], "has no effect"),
    ],
)
def test_wrong_usage_is_told(folder, tmp_path, options, message):
    said = refuses("train", "relations", folder / "train.jsonl", "--model", tmp_path / "m", *options, cwd=folder)
    assert message in said


def test_k_best_is_refused_by_name(folder, tmp_path):
    assert "--k-best" in refuses("predict", folder / "model", folder / "test.jsonl", "--k-best", "2")
    assert "needs k-best inference" in fails(
        "train", "relations", folder / "train.jsonl", "--model", tmp_path / "m", "--algorithm", "kbest-mira"
    )


def test_a_table_is_never_written_over(folder):
    said = fails("train", "relations", folder / "train.jsonl", "--model", folder / "types.txt", "--relation-types",
                 folder / "types.txt", "--quiet")  # fmt: skip
    assert "--relation-types" in said


def test_types_that_training_did_not_have_are_told(folder, tmp_path):
    first = lines_of((folder / "test.jsonl").read_text())
    first[0]["entities"] = [{"type": "Alien", "start": 0, "end": 1}]
    first[0]["relations"] = []
    write_relations(tmp_path / "x.jsonl", first)
    done = run("evaluate", folder / "model", tmp_path / "x.jsonl")
    assert "labels that training did not see count as errors: Alien (1)" in done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "expected a JSON object"), ('{"tokens": ["a"]}', "found no field 'entities'"), ("[]", "found a list")],
)
def test_bad_lines_are_told_in_every_command(folder, tmp_path, line, message):
    path = tmp_path / "bad.jsonl"
    path.write_text((folder / "test.jsonl").read_text() + line + "\n")
    for command in (
        ["train", "relations", path, "--model", tmp_path / "m"],
        ["predict", folder / "model", path],
        ["evaluate", folder / "model", path],
    ):
        said = fails(*command)
        assert f"{path}, line 31: " in said
        assert message in said
