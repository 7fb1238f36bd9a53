"""`marginloom train parse` and what the other commands do with its models."""

import gzip
import json
import threading

import pytest
from support.program import TIMEOUT, fails, last_json, names_in, refuses, run, start

from marginloom import DependencyParser, make_treebank, read_conllu, write_conllu
from marginloom.tasks.parse.model import ParseModel

QUICK = ["--hash-bits", "12", "--max-iter", "3", "--C", "0.01", "--tol", "0.5", "--quiet"]
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


def write_conllx(path, sentences, trees):
    """Write CoNLL-X with something in its last columns."""
    with path.open("w") as file:
        for words, nodes in zip(sentences, trees, strict=True):
            for number, ((form, upos, xpos), (head, label)) in enumerate(zip(words, nodes, strict=True), 1):
                file.write(f"{number}\t{form}\t_\t{upos}\t{xpos}\t_\t{head}\t{label}\t{head}\t{label}\n")
            file.write("\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parse")
    for name, count, seed in (("train", 60, 0), ("dev", 15, 1), ("test", 15, 2)):
        bank = make_treebank(count, seed=seed)
        write_conllu(folder / f"{name}.conllu", *bank)
        write_conllx(folder / f"{name}.conllx", *bank)
    write_conllu(folder / "crossing.conllu", *make_treebank(30, seed=3, nonprojective=0.4))
    run("train", "parse", folder / "train.conllu", "--model", folder / "model", "--labelled", *QUICK)
    run("train", "parse", folder / "train.conllu", "--model", folder / "plain", *QUICK)
    return folder


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
def test_training_reports_scores_and_a_certificate(folder, tmp_path, ending, labelled):
    files = [folder / f"train.{ending}", "--dev", folder / f"dev.{ending}", "--test", folder / f"test.{ending}"]
    options = ["--labelled"] if labelled else []
    done = run("train", "parse", *files, "--model", tmp_path / "m", *options, *QUICK[:-1], "--json")
    summary = last_json(done)
    names = {"uas", "uas_punct", "las", "las_punct", "per_label", "confusions"} if labelled else {"uas", "uas_punct"}
    assert set(summary["scores"]["dev"]) == set(summary["scores"]["test"]) == names
    assert summary["scores"]["test"]["uas"] > 0.5
    assert summary["exact"] is True
    assert 0 < summary["dual"] < summary["primal"]
    evaluated = last_json(run("evaluate", tmp_path / "m", folder / f"test.{ending}", "--json"))
    assert evaluated["scores"] == summary["scores"]["test"]
    assert evaluated["sentences"] == 15


def test_both_formats_and_python_train_to_the_same_model(folder, tmp_path):
    run("train", "parse", folder / "train.conllx", "--model", tmp_path / "m", "--labelled", *QUICK)
    assert ParseModel.load(tmp_path / "m").weights.tobytes() == ParseModel.load(folder / "model").weights.tobytes()
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress((folder / "train.conllx").read_bytes()))
    options = ["--labelled", "--format", "conllx", *QUICK]
    run("train", "parse", tmp_path / "train.txt.gz", "--model", tmp_path / "m", *options)
    assert ParseModel.load(tmp_path / "m").settings["format"] == "conllx"
    sentences, trees = read_conllu(folder / "train.conllu")
    loaded = DependencyParser.load(folder / "model")
    again = DependencyParser(labelled=True, hash_bits=12, max_iter=3, C=0.01, tol=0.5).fit(sentences, trees)
    assert again.model_.weights.tobytes() == loaded.model_.weights.tobytes()


@pytest.mark.parametrize("ending", ["conllu", "conllx"])
def test_prediction_changes_the_columns_of_trees_and_nothing_else(folder, ending):
    given = (folder / f"test.{ending}").read_text()
    told = run("predict", folder / "model", folder / f"test.{ending}").stdout
    other_trees = (8, 9) if ending == "conllx" else (8,)
    assert without(told, 6, 7) == without(given, 6, 7, *other_trees)
    sentences, _ = read_conllu(folder / "test.conllu")
    trees = DependencyParser.load(folder / "model").predict(sentences)
    assert column(told, 6) == [[str(head) for head, _ in tree] for tree in trees]
    assert column(told, 7) == [[label for _, label in tree] for tree in trees]


def test_everything_that_is_no_word_is_left_as_it_is(folder):
    for text in (RICH, RICH.rstrip("\n"), RICH.replace("\n", "\r\n"), "\n\n" + RICH):
        told = run("predict", folder / "model", "-", stdin=text.encode()).stdout
        assert without(told, 6, 7) == without(text, 6, 7, 8) + ("" if text.endswith("\n") else "\n")
        heads = column(told.replace("\r\n", "\n"), 6)
        assert [len(tree) for tree in heads] == [3, 1]
        assert all(head.isdigit() for tree in heads for head in tree)
        assert "1-2\tal\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No" in told
        assert "2.1\tya\tya\tADV\tRB\t_\t_\t_\t2:x\tGap" in told


def test_words_have_the_label_of_roots_or_another_where_there_is_no_label(folder):
    told = run("predict", folder / "plain", "-", stdin=RICH.encode()).stdout
    for heads, labels in zip(column(told, 6), column(told, 7), strict=True):
        assert labels == ["root" if head == "0" else "dep" for head in heads]
    assert column(told, 8) == [["_"] * 3, ["_"]]


def test_columns_of_conllu_plus_are_found_by_their_names(folder, tmp_path):
    text = "# global.columns = FORM UPOS HEAD DEPREL NER\n# x\nit\tPRON\t2\tnsubj\tO\nbarks\tVERB\t0\troot\tO\n\n"
    (tmp_path / "t.conllup").write_text(text + text.split("\n", 1)[1])
    told = run("predict", folder / "model", tmp_path / "t.conllup").stdout
    assert told == (tmp_path / "t.conllup").read_text()  # what it would predict anyway
    run("train", "parse", tmp_path / "t.conllup", "--model", tmp_path / "m", *QUICK)
    two = run("predict", folder / "model", tmp_path / "t.conllup", "--k-best", "2").stdout
    assert two.startswith("# global.columns = FORM UPOS HEAD DEPREL NER\n# tree = 1 of 2\n# score = ")
    assert two.count("global.columns") == 1
    (tmp_path / "two.conllup").write_text(two)
    assert last_json(run("evaluate", folder / "model", tmp_path / "two.conllup", "--json"))["sentences"] == 4
    (tmp_path / "none.conllup").write_text("# global.columns = FORM UPOS\nit\tPRON\n\n")
    said = fails("predict", folder / "model", tmp_path / "none.conllup")
    assert "none.conllup, line 1: found the columns FORM UPOS, expected HEAD among them; name it" in said


def test_what_a_tagger_writes_a_parser_reads(folder, tmp_path):
    options = ["--column", "4", "--max-iter", "5", "--tol", "0.5", "--quiet"]
    run("train", "tag", folder / "train.conllu", "--model", tmp_path / "tagger", *options)
    untagged = without((folder / "test.conllu").read_text(), 3, 6, 7)
    tagged = run("predict", tmp_path / "tagger", "-", "--format", "conllu", stdin=untagged.encode()).stdout
    assert column(tagged, 3) != column(untagged, 3)
    told = run("predict", folder / "model", "-", stdin=tagged.encode()).stdout
    assert without(told, 6, 7) == tagged
    (tmp_path / "gold.conllu").write_text(told)
    assert last_json(run("evaluate", folder / "model", tmp_path / "gold.conllu", "--json"))["scores"]["las"] == 1


@pytest.mark.parametrize(("model", "end"), [("model", ""), ("plain", "\n"), ("plain", "\n\n"), ("model", "\n \n")])
def test_the_k_best_trees_are_sentences_of_their_own(folder, tmp_path, model, end):
    text = RICH.split("\n\n")[0] + "\n\n1\tya\t_\tADV\tRB\t_\t_\t_\t_\t_\n2\tmar\t_\tNOUN\tNN\t_\t_\t_\t_\t_" + end
    told = run("predict", folder / model, "-", "--k-best", "2", stdin=text.encode()).stdout
    one = run("predict", folder / model, "-", stdin=text.encode()).stdout
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


def test_k_best_trees_are_refused_where_there_are_none(folder, tmp_path):
    assert "CoNLL-X has no comments" in refuses("predict", folder / "model", folder / "test.conllx", "--k-best", "2")
    options = ["--order", "2", "--non-projective", *QUICK]
    run("train", "parse", folder / "train.conllu", "--model", tmp_path / "m", *options)
    said = fails("predict", tmp_path / "m", folder / "test.conllu", "--k-best", "2")
    assert "not searched exactly, so there is no list of the best ones" in said
    assert run("predict", tmp_path / "m", folder / "test.conllu").stdout.count("\n\n") == 15


def test_evaluation_is_that_of_the_estimator(folder):
    sentences, trees = read_conllu(folder / "test.conllu")
    summary = last_json(run("evaluate", folder / "model", folder / "test.conllu", "--json"))
    assert summary["scores"] == DependencyParser.load(folder / "model").evaluate(sentences, trees)
    assert (summary["sentences"], summary["tokens"]) == (15, sum(map(len, sentences)))
    assert summary["unseen_labels"] == {}
    shown = run("evaluate", folder / "model", folder / "test.conllu").stdout
    assert f"uas {summary['scores']['uas']:.4f}" in shown


def test_labels_that_training_did_not_see_are_named(folder, tmp_path):
    text = (folder / "test.conllu").read_text().replace("\tnsubj\t", "\tagent\t", 1)
    (tmp_path / "t.conllu").write_text(text)
    done = run("evaluate", folder / "model", tmp_path / "t.conllu", "--json")
    assert last_json(done)["unseen_labels"] == {"agent": 1}
    assert "agent (1)" in done.stderr


def test_inspect_shows_which_trees_and_what_is_strong(folder, tmp_path):
    shown = run("inspect", folder / "model").stdout
    assert "projective, order 1, one root" in shown
    assert "arcs (4,096 arcs, " in shown
    found = json.loads(run("inspect", folder / "model", "--json").stdout)
    assert (found["order"], found["projective"], found["roots"]) == (1, True, "one")
    assert "nsubj" in found["labels"]
    options = ["--hash-bits", "0", "--order", "2", "--non-projective", "--roots", "many", "--labelled", *QUICK[2:]]
    run("train", "parse", folder / "train.conllu", "--model", tmp_path / "m", *options)
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
def test_parsers_of_every_kind_are_trained(folder, tmp_path, options):
    quick = QUICK if not {"--hash-bits", "--min-count"} & set(options) else QUICK[2:]
    if "averaged-perceptron" in options:  # which has neither C nor a tolerance
        quick = ["--hash-bits", "12", "--max-iter", "3", "--quiet"]
    files = [folder / "train.conllu", "--test", folder / "test.conllu", "--model", tmp_path / "m"]
    assert last_json(run("train", "parse", *files, *options, *quick, "--json"))["scores"]["test"]["uas"] > 0.3


def test_kept_features_and_checkpoints_lead_to_the_same_model(folder, tmp_path):
    plain = (folder / "model").read_bytes()
    train = ["train", "parse", folder / "train.conllu", "--labelled", *QUICK]
    run(*train, "--model", tmp_path / "a", "--feature-cache", "100K")
    weights = ParseModel.load(folder / "model").weights.tobytes()
    assert ParseModel.load(tmp_path / "a").weights.tobytes() == weights
    run(*train, "--model", tmp_path / "b", "--checkpoint", tmp_path / "c", "--checkpoint-interval", "0", "--resume")
    assert ParseModel.load(tmp_path / "b").weights.tobytes() == weights
    run(*train, "--model", tmp_path / "c1", "--save-state")
    run(*train, "--model", tmp_path / "d", "--warm-start", tmp_path / "c1", "--order", "2")
    assert ParseModel.load(tmp_path / "d").options.order == 2
    assert (folder / "model").read_bytes() == plain


def test_other_parts_of_speech_make_another_model(folder, tmp_path):
    train = ["train", "parse", folder / "train.conllu", *QUICK]
    weights = {ParseModel.load(folder / "plain").weights.tobytes()}
    for number, options in enumerate((["--pos-column", "4"], ["--pos-column", "5"])):
        run(*train, "--model", tmp_path / str(number), *options)
        weights.add(ParseModel.load(tmp_path / str(number)).weights.tobytes())
    assert len(weights) == 2  # column 4 is UPOS
    assert run("predict", tmp_path / "1", folder / "test.conllu").stdout


def test_parts_of_speech_that_are_all_the_same_are_warned_of(folder, tmp_path):
    (tmp_path / "t.conllu").write_text(without((folder / "train.conllu").read_text(), 3))
    train = ["train", "parse", tmp_path / "t.conllu", "--model", tmp_path / "m", *QUICK[:-1]]
    assert "all words have the same upos, '_', which says nothing of them" in run(*train).stderr
    assert "the same feats, '_'" in run(*train, "--pos-column", "6").stderr
    assert "says nothing" not in run(*train, "--pos-column", "5").stderr


def test_parts_of_speech_that_are_missing_are_warned_of(folder, tmp_path):
    (tmp_path / "t.conllu").write_text(without((folder / "test.conllu").read_text(), 3))
    for command in ("predict", "evaluate"):
        said = run(command, folder / "plain", tmp_path / "t.conllu").stderr
        assert said.count("no word has its upos, which the parser reads") == 1, said
        assert "no word has" not in run(command, folder / "plain", folder / "test.conllu").stderr


@pytest.mark.parametrize("what", ["repair", "skip", "error"])
def test_trees_that_cross_are_dealt_with_as_asked(folder, tmp_path, what):
    train = ["train", "parse", folder / "crossing.conllu", "--model", tmp_path / "m", *QUICK[:-1]]
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


def test_two_roots_are_learnt_where_many_are_allowed(folder, tmp_path):
    words = "1\ta\t_\tA\t_\t_\t0\troot\t_\t_\n2\tb\t_\tB\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "t.conllu").write_text(words * 3)
    train = ["train", "parse", tmp_path / "t.conllu", "--model", tmp_path / "m", "--hash-bits", "8", "--quiet"]
    said = fails(*train)
    assert "t.conllu, line 2: word 2 has the head 0, and word 1 is a root already; mend it, or allow" in said
    run(*train, "--roots", "many", "--C", "10")
    assert run("predict", tmp_path / "m", tmp_path / "t.conllu").stdout == words * 3


ROW = "{}\t{}\t_\tX\t_\t_\t{}\t{}\t_\t_\n"


def rows(*heads, labels=None):
    labels = labels or ["x"] * len(heads)
    nodes = zip(heads, labels, strict=True)
    return "".join(ROW.format(n, f"w{n}", head, label) for n, (head, label) in enumerate(nodes, 1)) + "\n"


GOOD = rows(0, 1)
# name, content, what the message has to say besides the name
HOSTILE = {
    "head beyond the sentence": ("x.conllu", GOOD + rows(0, 7), ["line 5", "found the head 7", "one of the 2 words"]),
    "cycle": ("x.conllu", GOOD + rows(0, 3, 2), ["line 5", "word 2 is below itself", "mend the heads"]),
    "its own head": ("x.conllu", GOOD + rows(1), ["line 4", "word 1 is its own head", "mend the heads"]),
    "no root": ("x.conllu", GOOD + rows(2, 1), ["line 4", "no word has the head 0", "mend the heads"]),
    "two roots": ("x.conllu", GOOD + rows(0, 0), ["line 5", "is a root already", "--roots many"]),
    "no heads": ("x.conllu", GOOD + rows("_", "_"), ["line 4", "found _ for a head", "give a file with trees"]),
    "words as heads": ("x.conllu", rows("w2", 0), ["line 1", "found the head 'w2'", "expected the number"]),
    "negative head": ("x.conllu", rows(-1, 0), ["line 1", "found the head '-1'"]),
    "huge head": ("x.conllu", rows(10**30, 0), ["line 1", "found the head '1000"]),
    "missing column": ("x.conllu", GOOD + "1\ta\t_\tX\t_\t_\t0\tx\t_\n", ["line 4", "found 9 columns", "expected 10"]),
    "spaces": ("x.conllu", GOOD.replace("\t", " "), ["line 1", "found 1 column", "tabs"]),
    "numbered from 0": ("x.conllu", "0\ta\t_\tX\t_\t_\t0\tx\t_\t_\n", ["line 1", "found the ID '0', expected 1"]),
    "a word left out": ("x.conllu", GOOD.replace("2\tw2", "3\tw2"), ["line 2", "found the ID '3', expected 2"]),
    "empty": ("x.conllu", "", ["found no sentence", "expected one token a line"]),
    "comments only": ("x.conllu", "# a\n\n# b\n", ["found no sentence"]),
    "ranges only": ("x.conllu", "1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\n\n", ["found no sentence"]),
    "empty CoNLL-X": ("x.conll", "", ["found no sentence"]),
    "short CoNLL-X": ("x.conllx", "1\ta\t_\tX\t_\t_\t0\tx\n", ["line 1", "found 8 columns", "expected 10"]),
    "latin-1": ("x.conllu", GOOD.replace("w1", "\udce9"), ["line 1", "0xe9", "UTF-8"]),
    "no header": ("x.conllup", GOOD, ["line 1", "# global.columns = "]),
    "no HEAD": ("x.conllup", "# global.columns = ID FORM UPOS\n1\ta\tX\n", ["line 1", "expected HEAD among them"]),
    "no DEPREL": (
        "x.conllup",
        "# global.columns = ID FORM UPOS HEAD\n1\ta\tX\t0\n",
        ["line 1", "expected DEPREL among them"],
    ),
    "no UPOS": (
        "x.conllup",
        "# global.columns = ID FORM HEAD DEPREL\n1\ta\t0\tx\n",
        ["line 1", "expected UPOS among them"],
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_cannot_be_learnt_is_named_with_its_line(tmp_path, kind):
    name, text, parts = HOSTILE[kind]
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    said = fails("train", "parse", tmp_path / name, "--model", tmp_path / "m", "--labelled", "--quiet")
    for part in (name, *parts):
        assert part in said
    assert names_in(tmp_path) == [name]


@pytest.mark.parametrize("kind", ["head beyond the sentence", "no heads", "missing column", "empty", "latin-1"])
def test_a_file_that_cannot_be_scored_is_named_with_its_line(folder, tmp_path, kind):
    name, text, parts = HOSTILE[kind]
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    said = fails("evaluate", folder / "model", tmp_path / name)
    for part in (name, *parts):
        assert part in said
    train = ["train", "parse", folder / "train.conllu", "--dev", tmp_path / name, "--model", tmp_path / "m"]
    assert parts[0] in fails(*train, "--labelled", *QUICK)


def test_trees_that_the_parser_cannot_make_are_scored(folder, tmp_path):
    """Several roots, and arcs that cross."""
    (tmp_path / "t.conllu").write_text(rows(0, 0) + rows(3, 4, 0, 3))
    assert last_json(run("evaluate", folder / "model", tmp_path / "t.conllu", "--json"))["tokens"] == 6


@pytest.mark.parametrize(
    ("heads", "message"),
    [((2, 1), "no word has the head 0"), ((0, 3, 2), "word 2 is below itself"), ((0, 2), "word 2 is its own head")],
)
def test_gold_heads_that_make_no_tree_are_an_error_wherever_they_are_scored(folder, tmp_path, heads, message):
    wrong = tmp_path / "t.conllu"
    wrong.write_text(rows(0, 0) + rows(*heads))
    place = f"{wrong}, line {4 if heads[0] else 5}: {message}"
    assert place in fails("evaluate", folder / "model", wrong)
    train = ["train", "parse", folder / "train.conllu", "--model", tmp_path / "m", "--quiet", *QUICK]
    for option in ("--dev", "--test"):
        assert place in fails(*train, option, wrong)
    assert names_in(tmp_path) == ["t.conllu"]


def test_a_sentence_that_is_too_long_is_named_by_file_and_line(folder, tmp_path):
    long = tmp_path / "long.conllu"
    long.write_text("# text\n" + rows(0, *[1] * 65_534) + rows(0))
    words = f"{long}, line 2: here begins a sentence of 65,535 words, and a sentence has at most 65,534; split it"
    train = ["train", "parse", "--model", tmp_path / "m", "--quiet", *QUICK]
    for command in (["predict", folder / "model"], ["evaluate", folder / "model"], train):
        assert words in fails(*command, long)


def test_wrong_usage_is_refused(folder, tmp_path):
    train = ["train", "parse", folder / "train.conllu", "--model", tmp_path / "m", "--quiet"]
    assert "--roots must be one of one, many, not 'two'" in refuses(*train, "--roots", "two")
    assert "--invalid-gold must be one of repair, skip, error" in refuses(*train, "--invalid-gold", "drop")
    assert "--order" in refuses(*train, "--order", "3")
    assert "--hash-bits" in refuses(*train, "--hash-bits", "32")
    assert "min_count" in refuses(*train, "--min-count", "0")
    assert "feature_cache" in refuses(*train, "--feature-cache", "much")
    assert "--pos-column" in refuses(*train, "--pos-column", "0")
    assert "--format" in refuses(*train, "--format", "crfsuite")
    assert "--gazetteer" in refuses(*train, "--gazetteer", "names.txt")
    assert "--column" in refuses(*train, "--column", "4")
    assert "--k-best" in refuses("predict", folder / "model", folder / "test.conllu", "--k-best", "0")
    assert names_in(tmp_path) == []


def test_what_does_not_go_together_is_said(folder, tmp_path):
    train = ["train", "parse", folder / "train.conllu", "--model", tmp_path / "m", "--quiet"]
    assert "min_count cannot be 2" in fails(*train, "--hash-bits", "12", "--min-count", "2")
    assert "there is no feature set 'tagging' for arcs" in fails(*train, "--features", "tagging")
    said = fails(*train, "--pos-column", "11")
    assert "train.conllu, line 1: found 10 columns, expected a column 11 among them" in said
    assert "as pos_column (--pos-column) says" in said
    for place, name in (("7", "HEAD"), ("8", "DEPREL"), ("deps", "DEPS")):
        assert f"the column {name} holds trees" in fails(*train, "--pos-column", place)
    (tmp_path / "templates").write_text("pos[h] pos[m]\ncolumn[m,7]\n")
    said = fails(*train, "--features", tmp_path / "templates")
    assert "the column HEAD holds trees, and the template 'column[m,7]' of " in said
    assert "templates, line 2 reads it" in said
    (tmp_path / "templates").write_text("pos[h] pos[m]\npos[s] pos[m]\npos[q]\n")
    assert "templates, line 3: found 'pos[q]'" in fails(*train, "--features", tmp_path / "templates")
    (tmp_path / "templates").write_text("xpos[m]\n")
    assert "ask for the other part of speech with xpos=True (--xpos)" in fails(
        *train, "--features", tmp_path / "templates"
    )
    mixed = ["train", "parse", folder / "train.conllu", folder / "train.conllx", "--model", tmp_path / "m"]
    assert "conllu and conllx cannot be mixed" in fails(*mixed)
    assert "cannot read" in fails("train", "parse", tmp_path / "none.conllu", "--model", tmp_path / "m")


def test_several_files_are_one_treebank(folder, tmp_path):
    text = (folder / "train.conllu").read_text().split("\n\n")
    (tmp_path / "a.conllu").write_text("\n\n".join(text[:20]) + "\n\n")
    (tmp_path / "b.conllu.gz").write_bytes(gzip.compress("\n\n".join(text[20:]).encode()))
    for bits, whole in (("12", folder / "plain"), ("0", tmp_path / "whole")):
        options = ["--hash-bits", bits, *QUICK[2:]]
        if bits == "0":
            run("train", "parse", folder / "train.conllu", "--model", whole, *options)
        files = [tmp_path / "a.conllu", tmp_path / "b.conllu.gz"]
        run("train", "parse", *files, "--model", tmp_path / "m", *options)
        assert ParseModel.load(tmp_path / "m").weights.tobytes() == ParseModel.load(whole).weights.tobytes()
    skipped = ["--invalid-gold", "skip", "--hash-bits", "0", *QUICK[2:]]
    run("train", "parse", folder / "crossing.conllu", folder / "train.conllu", "--model", tmp_path / "m", *skipped)


def test_sentences_are_parsed_as_they_come(folder):
    with start("predict", folder / "model", "-") as program:
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


def test_the_best_trees_of_a_sentence_come_before_the_next_one(folder):
    with start("predict", folder / "model", "-", "--k-best", "2") as program:
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


def test_nothing_that_is_read_is_written_over(folder, tmp_path):
    text = (folder / "train.conllu").read_text()
    (tmp_path / "t.conllu").write_text(text)
    (tmp_path / "f.txt").write_text("pos[h] pos[m]\n")
    train = ["train", "parse", tmp_path / "t.conllu", "--features", tmp_path / "f.txt", *QUICK]
    for victim in ("t.conllu", "f.txt"):
        assert f"{victim}, which is read and would be overwritten" in fails(*train, "--model", tmp_path / victim)
    said = fails("predict", folder / "plain", tmp_path / "t.conllu", "-o", tmp_path / "t.conllu")
    assert "would be overwritten" in said
    assert (tmp_path / "t.conllu").read_text() == text
    assert (tmp_path / "f.txt").read_text() == "pos[h] pos[m]\n"


def test_empty_input_gives_empty_output(folder):
    assert run("predict", folder / "model", "-", stdin=b"").stdout == ""
    assert run("predict", folder / "model", "-", stdin=b"\n# a\n\n").stdout == "\n# a\n\n"
    assert run("predict", folder / "model", "-", "--k-best", "2", stdin=b"\n# a\n\n").stdout == "\n# a\n\n"
