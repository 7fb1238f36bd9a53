"""`marginloom train parse` and what the other commands do with its models."""

import gzip
import json
import threading

import pytest
from support.program import QUICK_PARSER, TIMEOUT, fails, last_json, names_in, refuses, run, start

from marginloom import DependencyParser, read_conllu
from marginloom.tasks.parse.model import ParseModel

#: Everything that CoNLL-U may have, and that a parser must leave alone.
RICH = """\
# newdoc id = d1
# text = al mar
1-2\tal\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\ta\ta\tADP\tIN\tA=b|C=d\t9\tx\t3:case\tM=1
2\tel\tel\tDET\tDT\t_\t_\t_\t_\t_
2.1\tya\tya\tADV\tRB\t_\t_\t_\t2:x\tGap
3\tmar\tmar\tNOUN\tNN\t_\t3\ty\t_\t_

# only a comment

1\tya\t_\tADV\tRB\t_\t_\t_\t_\t_


# the end
"""


def column(text, number):
    """Return a column (from 0) of the words of each sentence."""
    blocks = [block.split("\n") for block in text.strip("\n").split("\n\n")]
    rows = [[line.split("\t") for line in block if not line.startswith("#")] for block in blocks]
    found = [[row[number] for row in block if row[0].isdigit()] for block in rows]
    return [words for words in found if words]


def without(text, *columns):
    """Return text with columns (from 0) of all words emptied."""
    lines = []
    for line in text.split("\n"):
        cells = line.split("\t")
        if cells[0].isdigit():
            cells = ["_" if place in columns else cell for place, cell in enumerate(cells)]
        lines.append("\t".join(cells))
    return "\n".join(lines)


@pytest.mark.parametrize("ending", ["conllu", "conllx"])
@pytest.mark.parametrize("labelled", [True, False])
def test_training_reports_scores_and_a_certificate(treebank, tmp_path, ending, labelled):
    files = [treebank / f"train.{ending}", "--dev", treebank / f"dev.{ending}", "--test", treebank / f"test.{ending}"]
    options = ["--labelled"] if labelled else []
    done = run("train", "parse", *files, "--model", tmp_path / "m", *options, *QUICK_PARSER[:-1], "--json")
    summary = last_json(done)
    names = {"uas", "uas_punct", "las", "las_punct", "per_label", "confusions"} if labelled else {"uas", "uas_punct"}
    assert set(summary["scores"]["dev"]) == set(summary["scores"]["test"]) == names
    assert summary["scores"]["test"]["uas"] > 0.5
    assert summary["exact"] is True
    assert 0 < summary["dual"] < summary["primal"]
    evaluated = last_json(run("evaluate", tmp_path / "m", treebank / f"test.{ending}", "--json"))
    assert evaluated["scores"] == summary["scores"]["test"]
    assert evaluated["sentences"] == 15


def test_both_formats_and_python_train_to_the_same_model(treebank, tmp_path):
    run("train", "parse", treebank / "train.conllx", "--model", tmp_path / "m", "--labelled", *QUICK_PARSER)
    assert ParseModel.load(tmp_path / "m").weights.tobytes() == ParseModel.load(treebank / "model").weights.tobytes()
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress((treebank / "train.conllx").read_bytes()))
    options = ["--labelled", "--format", "conllx", *QUICK_PARSER]
    run("train", "parse", tmp_path / "train.txt.gz", "--model", tmp_path / "m", *options)
    assert ParseModel.load(tmp_path / "m").settings["format"] == "conllx"
    sentences, trees = read_conllu(treebank / "train.conllu")
    loaded = DependencyParser.load(treebank / "model")
    again = DependencyParser(labelled=True, hash_bits=12, max_iter=3, C=0.01, tol=0.5).fit(sentences, trees)
    assert again.model_.weights.tobytes() == loaded.model_.weights.tobytes()


@pytest.mark.parametrize("ending", ["conllu", "conllx"])
def test_prediction_changes_the_columns_of_trees_and_nothing_else(treebank, ending):
    given = (treebank / f"test.{ending}").read_text()
    told = run("predict", treebank / "model", treebank / f"test.{ending}").stdout
    other_trees = (8, 9) if ending == "conllx" else (8,)
    assert without(told, 6, 7) == without(given, 6, 7, *other_trees)
    sentences, _ = read_conllu(treebank / "test.conllu")
    trees = DependencyParser.load(treebank / "model").predict(sentences)
    assert column(told, 6) == [[str(head) for head, _ in tree] for tree in trees]
    assert column(told, 7) == [[label for _, label in tree] for tree in trees]


def test_everything_that_is_no_word_is_left_as_it_is(treebank):
    for text in (RICH, RICH.rstrip("\n"), RICH.replace("\n", "\r\n"), "\n\n" + RICH):
        told = run("predict", treebank / "model", "-", stdin=text.encode()).stdout
        assert without(told, 6, 7) == without(text, 6, 7, 8) + ("" if text.endswith("\n") else "\n")
        heads = column(told.replace("\r\n", "\n"), 6)
        assert [len(tree) for tree in heads] == [3, 1]
        assert all(head.isdigit() for tree in heads for head in tree)
        assert "1-2\tal\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No" in told
        assert "2.1\tya\tya\tADV\tRB\t_\t_\t_\t2:x\tGap" in told


def test_words_have_the_label_of_roots_or_another_where_there_is_no_label(treebank):
    told = run("predict", treebank / "plain", "-", stdin=RICH.encode()).stdout
    for heads, labels in zip(column(told, 6), column(told, 7), strict=True):
        assert labels == ["root" if head == "0" else "dep" for head in heads]
    assert column(told, 8) == [["_"] * 3, ["_"]]


def test_columns_of_conllu_plus_are_found_by_their_names(treebank, tmp_path):
    text = "# global.columns = FORM UPOS HEAD DEPREL NER\n# x\nit\tPRON\t2\tnsubj\tO\nbarks\tVERB\t0\troot\tO\n\n"
    (tmp_path / "t.conllup").write_text(text + text.split("\n", 1)[1])
    model = tmp_path / "parser"
    run("train", "parse", treebank / "train.conllu", "--model", model, "--labelled", "--no-xpos", *QUICK_PARSER)
    told = run("predict", model, tmp_path / "t.conllup").stdout
    assert told == (tmp_path / "t.conllup").read_text()  # what it would predict anyway
    run("train", "parse", tmp_path / "t.conllup", "--model", tmp_path / "m", *QUICK_PARSER)
    two = run("predict", model, tmp_path / "t.conllup", "--k-best", "2").stdout
    assert two.startswith("# global.columns = FORM UPOS HEAD DEPREL NER\n# tree = 1 of 2\n# score = ")
    assert two.count("global.columns") == 1
    (tmp_path / "two.conllup").write_text(two)
    assert last_json(run("evaluate", model, tmp_path / "two.conllup", "--json"))["sentences"] == 4
    (tmp_path / "none.conllup").write_text("# global.columns = FORM UPOS\nit\tPRON\n\n")
    said = fails("predict", model, tmp_path / "none.conllup")
    assert "none.conllup, line 1: found the columns FORM UPOS, expected HEAD among them; name it" in said


def test_what_a_tagger_writes_a_parser_reads(treebank, tmp_path):
    options = ["--column", "4", "--max-iter", "5", "--tol", "0.5", "--quiet"]
    run("train", "tag", treebank / "train.conllu", "--model", tmp_path / "tagger", *options)
    untagged = without((treebank / "test.conllu").read_text(), 3, 6, 7)
    tagged = run("predict", tmp_path / "tagger", "-", "--format", "conllu", stdin=untagged.encode()).stdout
    assert column(tagged, 3) != column(untagged, 3)
    told = run("predict", treebank / "model", "-", stdin=tagged.encode()).stdout
    assert without(told, 6, 7) == tagged
    (tmp_path / "gold.conllu").write_text(told)
    assert last_json(run("evaluate", treebank / "model", tmp_path / "gold.conllu", "--json"))["scores"]["las"] == 1


@pytest.mark.parametrize(("model", "end"), [("model", ""), ("plain", "\n"), ("plain", "\n\n"), ("model", "\n \n")])
def test_the_k_best_trees_are_sentences_of_their_own(treebank, tmp_path, model, end):
    text = RICH.split("\n\n")[0] + "\n\n1\tya\t_\tADV\tRB\t_\t_\t_\t_\t_\n2\tmar\t_\tNOUN\tNN\t_\t_\t_\t_\t_" + end
    told = run("predict", treebank / model, "-", "--k-best", "2", stdin=text.encode()).stdout
    one = run("predict", treebank / model, "-", stdin=text.encode()).stdout
    trees = column(told.replace("\n \n", "\n\n"), 6)
    assert [len(tree) for tree in trees] == [3, 3, 2, 2]
    assert trees[::2] == column(one, 6)
    assert trees[0] != trees[1]
    assert told.count("# tree = 1 of 2\n# score = ") == told.count("# tree = 2 of 2\n# score = ") == 2
    assert told.count("2.1\tya") == told.count("# text = al mar") == 2
    scores = [float(line.split("=")[1]) for line in told.split("\n") if line.startswith("# score")]
    assert scores[0] >= scores[1]
    assert scores[2] >= scores[3]
    assert told.endswith("_" + (end or "\n"))  # the last line has an end
    (tmp_path / "again.conllu").write_text(told)
    assert len(read_conllu(tmp_path / "again.conllu")[0]) == 4


def test_k_best_trees_are_refused_where_there_are_none(treebank, tmp_path):
    assert "CoNLL-X has no comments" in refuses(
        "predict", treebank / "model", treebank / "test.conllx", "--k-best", "2"
    )
    options = ["--order", "2", "--non-projective", *QUICK_PARSER]
    run("train", "parse", treebank / "train.conllu", "--model", tmp_path / "m", *options)
    said = fails("predict", tmp_path / "m", treebank / "test.conllu", "--k-best", "2")
    assert "not searched exactly, so there is no list of the best ones" in said
    assert run("predict", tmp_path / "m", treebank / "test.conllu").stdout.count("\n\n") == 15


def test_evaluation_is_that_of_the_estimator(treebank):
    sentences, trees = read_conllu(treebank / "test.conllu")
    summary = last_json(run("evaluate", treebank / "model", treebank / "test.conllu", "--json"))
    assert summary["scores"] == DependencyParser.load(treebank / "model").evaluate(sentences, trees)
    assert (summary["sentences"], summary["tokens"]) == (15, sum(map(len, sentences)))
    assert summary["unseen_labels"] == {}
    shown = run("evaluate", treebank / "model", treebank / "test.conllu").stdout
    assert f"uas {summary['scores']['uas']:.4f}" in shown


def test_labels_that_training_did_not_see_are_named(treebank, tmp_path):
    text = (treebank / "test.conllu").read_text().replace("\tnsubj\t", "\tagent\t", 1)
    (tmp_path / "t.conllu").write_text(text)
    done = run("evaluate", treebank / "model", tmp_path / "t.conllu", "--json")
    assert last_json(done)["unseen_labels"] == {"agent": 1}
    assert "agent (1)" in done.stderr


def test_inspect_shows_which_trees_and_what_is_strong(treebank, tmp_path):
    shown = run("inspect", treebank / "model").stdout
    assert "projective, order 1, one root" in shown
    assert "arcs-rich (4,096 arcs)" in shown
    found = json.loads(run("inspect", treebank / "model", "--json").stdout)
    assert (found["order"], found["projective"], found["roots"]) == (1, True, "one")
    assert "nsubj" in found["labels"]
    options = [
        "--hash-bits",
        "0",
        "--order",
        "2",
        "--non-projective",
        "--roots",
        "many",
        "--labelled",
        "--label-stage",
        "arc",
        *QUICK_PARSER[2:],
    ]
    run("train", "parse", treebank / "train.conllu", "--model", tmp_path / "m", *options)
    shown = run("inspect", tmp_path / "m", "--top", "400").stdout
    assert "non-projective, order 2, many roots" in shown
    assert "pos[h]=VERB" in shown
    labels = [line.split()[0] for line in shown.split("strongest weights\n")[1].splitlines() if line[0] not in " ─"]
    assert labels[:2] == ["arc", "siblings"]
    assert "nsubj" in labels
    assert "\x1f" not in shown


@pytest.mark.parametrize(
    "options",
    [
        ["--order", "2"],
        ["--non-projective"],
        ["--roots", "many", "--labelled"],
        ["--xpos"],
        ["--pos-column", "5"],
        ["--min-count", "2"],
        ["--hash-bits", "0", "--labelled"],
        ["--feature-cache", "10M"],
        ["--algorithm", "averaged-perceptron"],
        ["--order", "2", "--non-projective", "--labelled"],
        ["--loss", "hinge", "--threads", "2", "--algorithm", "ms-dcd"],
    ],
    ids=" ".join,
)
def test_parsers_of_every_kind_are_trained(treebank, tmp_path, options):
    quick = QUICK_PARSER if not {"--hash-bits", "--min-count"} & set(options) else QUICK_PARSER[2:]
    if "averaged-perceptron" in options:  # which has neither C nor a tolerance
        quick = ["--hash-bits", "12", "--max-iter", "3", "--quiet"]
    files = [treebank / "train.conllu", "--test", treebank / "test.conllu", "--model", tmp_path / "m"]
    assert last_json(run("train", "parse", *files, *options, *quick, "--json"))["scores"]["test"]["uas"] > 0.3


def test_kept_features_and_checkpoints_lead_to_the_same_model(treebank, tmp_path):
    plain = (treebank / "model").read_bytes()
    train = ["train", "parse", treebank / "train.conllu", "--labelled", *QUICK_PARSER]
    run(*train, "--model", tmp_path / "a", "--feature-cache", "100K")
    weights = ParseModel.load(treebank / "model").weights.tobytes()
    assert ParseModel.load(tmp_path / "a").weights.tobytes() == weights
    run(*train, "--model", tmp_path / "b", "--checkpoint", tmp_path / "c", "--checkpoint-interval", "0", "--resume")
    assert ParseModel.load(tmp_path / "b").weights.tobytes() == weights
    run(*train, "--model", tmp_path / "c1", "--save-state")
    run(*train, "--model", tmp_path / "d", "--warm-start", tmp_path / "c1", "--order", "2")
    assert ParseModel.load(tmp_path / "d").options.order == 2
    assert (treebank / "model").read_bytes() == plain


def test_other_parts_of_speech_make_another_model(treebank, tmp_path):
    train = ["train", "parse", treebank / "train.conllu", *QUICK_PARSER]
    weights = {ParseModel.load(treebank / "plain").weights.tobytes()}
    for number, options in enumerate((["--pos-column", "4"], ["--pos-column", "5"])):
        run(*train, "--model", tmp_path / str(number), *options)
        weights.add(ParseModel.load(tmp_path / str(number)).weights.tobytes())
    assert len(weights) == 2  # column 4 is UPOS
    assert run("predict", tmp_path / "1", treebank / "test.conllu").stdout


def test_parts_of_speech_that_are_all_the_same_are_warned_of(treebank, tmp_path):
    (tmp_path / "t.conllu").write_text(without((treebank / "train.conllu").read_text(), 3))
    train = ["train", "parse", tmp_path / "t.conllu", "--model", tmp_path / "m", *QUICK_PARSER[:-1]]
    assert "all words have the same upos, '_', which says nothing of them" in run(*train).stderr
    assert "the same feats, '_'" in run(*train, "--pos-column", "6").stderr
    assert "says nothing" not in run(*train, "--pos-column", "5").stderr


def test_parts_of_speech_that_are_missing_are_warned_of(treebank, tmp_path):
    (tmp_path / "t.conllu").write_text(without((treebank / "test.conllu").read_text(), 3))
    for command in ("predict", "evaluate"):
        said = run(command, treebank / "plain", tmp_path / "t.conllu").stderr
        assert said.count("no word has its upos, which the parser reads") == 1, said
        assert "no word has" not in run(command, treebank / "plain", treebank / "test.conllu").stderr


@pytest.mark.parametrize("what", ["repair", "skip", "error"])
def test_trees_that_cross_are_dealt_with_as_asked(treebank, tmp_path, what):
    train = ["train", "parse", treebank / "crossing.conllu", "--model", tmp_path / "m", *QUICK_PARSER[:-1]]
    if what == "error":
        said = fails(*train[:-2], "--quiet", "--invalid-gold", "error")
        assert "have non-projective trees" in said
        assert "crossing.conllu, line " in said
        assert "--invalid-gold repair|skip" in said
        assert names_in(tmp_path) == []
    else:
        said = run(*train, "--invalid-gold", what).stderr
        assert f": {'repaired, by lifting' if what == 'repair' else 'left out'}" in said
    assert "non-projective" not in run(*train, "--non-projective", "--invalid-gold", "error").stderr


def test_two_roots_are_learnt_where_many_are_allowed(treebank, tmp_path):
    words = "1\ta\t_\tA\t_\t_\t0\troot\t_\t_\n2\tb\t_\tB\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "t.conllu").write_text(words * 3)
    train = ["train", "parse", tmp_path / "t.conllu", "--model", tmp_path / "m", "--hash-bits", "8", "--quiet"]
    said = fails(*train)
    assert "t.conllu, line 2: word 2 has the head 0, and word 1 is a root already; mend it, or allow" in said
    run(*train, "--roots", "many", "--C", "10")
    assert run("predict", tmp_path / "m", tmp_path / "t.conllu").stdout == words * 3


def test_several_files_are_one_treebank(treebank, tmp_path):
    text = (treebank / "train.conllu").read_text().split("\n\n")
    (tmp_path / "a.conllu").write_text("\n\n".join(text[:20]) + "\n\n")
    (tmp_path / "b.conllu.gz").write_bytes(gzip.compress("\n\n".join(text[20:]).encode()))
    for bits, whole in (("12", treebank / "plain"), ("0", tmp_path / "whole")):
        options = ["--hash-bits", bits, *QUICK_PARSER[2:]]
        if bits == "0":
            run("train", "parse", treebank / "train.conllu", "--model", whole, *options)
        files = [tmp_path / "a.conllu", tmp_path / "b.conllu.gz"]
        run("train", "parse", *files, "--model", tmp_path / "m", *options)
        assert ParseModel.load(tmp_path / "m").weights.tobytes() == ParseModel.load(whole).weights.tobytes()
    skipped = ["--invalid-gold", "skip", "--hash-bits", "0", *QUICK_PARSER[2:]]
    run("train", "parse", treebank / "crossing.conllu", treebank / "train.conllu", "--model", tmp_path / "m", *skipped)


def test_sentences_are_parsed_as_they_come(treebank):
    with start("predict", treebank / "model", "-") as program:
        for number in (1, 2, 3):
            program.stdin.write(f"# {number}\n{RICH.split(chr(10) * 2)[0]}\n\n".encode())
            program.stdin.flush()
            lines = []
            while not lines or lines[-1] != b"\n":
                lines.append(program.stdout.readline())
                assert lines[-1], program.stderr.read().decode()
            assert lines[0] == f"# {number}\n".encode()
            assert lines[-2].startswith(b"3\tmar\tmar\tNOUN\tNN\t_\t")
        rest, said = program.communicate(timeout=TIMEOUT)
    assert (rest, said, program.returncode) == (b"", b"", 0)


def test_the_best_trees_of_a_sentence_come_before_the_next_one(treebank):
    with start("predict", treebank / "model", "-", "--k-best", "2") as program:
        timer = threading.Timer(TIMEOUT, program.kill)
        timer.start()
        for _ in range(2):
            program.stdin.write(f"{RICH.split(chr(10) * 2)[0]}\n\n".encode())
            program.stdin.flush()
            lines = []
            while lines.count(b"\n") < 2:
                lines.append(program.stdout.readline())
                assert lines[-1], "the program waits for more"
            assert [line for line in lines if line.startswith(b"# tree")] == [
                b"# tree = 1 of 2\n",
                b"# tree = 2 of 2\n",
            ]
        assert program.communicate(timeout=TIMEOUT) == (b"", b"")
        timer.cancel()


def test_nothing_that_is_read_is_written_over(treebank, tmp_path):
    text = (treebank / "train.conllu").read_text()
    (tmp_path / "t.conllu").write_text(text)
    (tmp_path / "f.txt").write_text("pos[h] pos[m]\n")
    train = ["train", "parse", tmp_path / "t.conllu", "--features", tmp_path / "f.txt", *QUICK_PARSER]
    for victim in ("t.conllu", "f.txt"):
        assert f"{victim}, which is read and would be overwritten" in fails(*train, "--model", tmp_path / victim)
    said = fails("predict", treebank / "plain", tmp_path / "t.conllu", "-o", tmp_path / "t.conllu")
    assert "would be overwritten" in said
    assert (tmp_path / "t.conllu").read_text() == text
    assert (tmp_path / "f.txt").read_text() == "pos[h] pos[m]\n"


def test_empty_input_gives_empty_output(treebank):
    assert run("predict", treebank / "model", "-", stdin=b"").stdout == ""
    assert run("predict", treebank / "model", "-", stdin=b"\n# a\n\n").stdout == "\n# a\n\n"
    assert run("predict", treebank / "model", "-", "--k-best", "2", stdin=b"\n# a\n\n").stdout == "\n# a\n\n"
