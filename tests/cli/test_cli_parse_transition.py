"""`marginloom train parse --method transition`, and what the other commands do with its models."""

import pytest
from support.program import fails, last_json, refuses, run

from marginloom import DependencyParser, read_conllu

QUICK = ("--method", "transition", "--beam", "4", "--algorithm", "mira", "--max-iter", "4", "--hash-bits", "14")


@pytest.fixture(scope="module")
def beam_model(treebank, tmp_path_factory):
    path = tmp_path_factory.mktemp("beam") / "model.safetensors"
    run("train", "parse", treebank / "train.conllu", "--labelled", "--model", path, *QUICK, "--seed", "1")
    return path


def test_training_reports_scores_and_certifies_nothing(treebank, tmp_path):
    files = [treebank / "train.conllu", "--test", treebank / "test.conllu", "--model", tmp_path / "m"]
    done = run("train", "parse", *files, *QUICK, "--update", "early", "--no-merging", "--json")
    assert last_json(done)["scores"]["test"]["uas"] > 0.5
    assert "certified" not in done.stderr.replace("not certified", "")


def test_predict_and_evaluate_take_another_beam(treebank, beam_model, tmp_path):
    scores = {}
    for beam in ((), ("--beam", "1"), ("--beam", "32")):
        done = run("evaluate", beam_model, treebank / "test.conllu", *beam, "--json")
        scores[beam] = last_json(done)["uas"] if "uas" in last_json(done) else last_json(done)["scores"]["uas"]
        out = tmp_path / f"out{len(scores)}.conllu"
        run("predict", beam_model, treebank / "test.conllu", *beam, "-o", out)
        _, y = read_conllu(out)
        gold = read_conllu(treebank / "test.conllu")[1]
        assert [len(tree) for tree in y] == [len(tree) for tree in gold]
    assert all(score > 0.5 for score in scores.values())


def test_a_parser_of_the_command_line_is_one_of_python(treebank, beam_model):
    parser = DependencyParser.load(beam_model)
    assert (parser.method, parser.beam, parser.update, parser.merging) == ("transition", 4, "max-violation", True)
    X, _ = read_conllu(treebank / "test.conllu")
    assert parser.predict(X)


def test_inspect_names_the_method(beam_model):
    shown = run("inspect", beam_model).stdout
    assert "method transition, beam 4, update max-violation" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--beam", "0"), "beam must be a whole number from 1 to 4,096, not 0"),
        (("--beam", "5000"), "beam must be a whole number from 1 to 4,096, not 5000"),
        (("--update", "late"), "update must be max-violation, early or standard"),
        (("--order", "1"), "--order does not go with method=transition"),
        (("--non-projective",), "--non-projective does not go with method=transition"),
        (("--roots", "many"), "--roots many does not go with method=transition"),
        (("--feature-cache", "1M"), "--feature-cache does not go with method=transition"),
        (("--method", "graph", "--update", "early"), "update (--update) needs method=transition"),
        (("--method", "graph", "--no-merging"), "merging=False (--no-merging) needs method=transition"),
        (("--method", "graph", "--beam", "8"), "beam (--beam) needs method=transition"),
    ],
)
def test_what_does_not_go_together_is_rejected_in_one_sentence(treebank, tmp_path, options, what):
    files = [treebank / "train.conllu", "--model", tmp_path / "m"]
    done = refuses("train", "parse", *files, "--method", "transition", *options)
    assert what in " ".join(done.replace("│", " ").split())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--features", "arcs"), "the feature set arcs is for method=graph"),
        (("--algorithm", "dcd-ssvm"), "dcd-ssvm needs loss-augmented inference, and beam search has none"),
        (("--algorithm", "sgd"), "sgd needs loss-augmented inference, and beam search has none"),
        (("--algorithm", "kbest-mira"), "kbest-mira needs k-best inference, and beam search has none"),
    ],
)
def test_what_a_beam_cannot_do_is_rejected_before_training(treebank, tmp_path, options, what):
    files = [treebank / "train.conllu", "--model", tmp_path / "m"]
    done = fails("train", "parse", *files, "--method", "transition", *options)
    assert what in done
    assert "method=transition" in done or "--method graph" in done


def test_k_best_and_beams_of_other_parsers_are_rejected(treebank, beam_model):
    done = refuses("predict", beam_model, treebank / "test.conllu", "--k-best", "2")
    assert "--k-best does not go with a parser of --method transition" in " ".join(done.replace("│", " ").split())
    done = refuses("predict", treebank / "plain", treebank / "test.conllu", "--beam", "2")
    assert "has no beam" in " ".join(done.replace("│", " ").split())
