"""What the documentation says of reading and writing files that no other test has."""

import gzip
import json
import lzma

import pytest
from fuzz.samples import build_inputs, train_arguments
from support.program import TIMEOUT, fails, json_lines, run, start

from marginloom import MulticlassClassifier, SequenceTagger, write_libsvm
from marginloom.features import Lists

BOM = b"\xef\xbb\xbf"
DECOMPRESSORS = {".gz": gzip.decompress, ".xz": lzma.decompress}
TASKS = {"conll": "dev.conll", "conllu": "dev.conllu", "trees": "dev.trees", "conllx": "dev.conllx"}
OPTIONS = {"conllx": ["--format", "conllx"]}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Files of every format, and a model for each."""
    folder = tmp_path_factory.mktemp("samples")
    build_inputs(folder)
    for name in (*TASKS, "crfsuite", "classify", "multilabel", "detect"):
        arguments = train_arguments(name, folder)
        run(*arguments[: arguments.index("--save-state")], "--model", folder / f"{name}.model")
    return folder


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_predictions_change_nothing_but_byte_order_mark_and_missing_line_end(samples, tmp_path, name, line_end):
    """What is predicted is taken out of input and output, and the rest must be the same bytes."""
    text = (samples / TASKS[name]).read_bytes().rstrip(b"\n").replace(b"\n", line_end)
    given, out = tmp_path / "x", tmp_path / "out"
    given.write_bytes(BOM + text)
    run("predict", samples / f"{name}.model", given, "-o", out, "--format", name if name != "trees" else "conllu")
    predicted = {"conll": {2}, "conllu": {3}, "trees": {6, 7, 8}, "conllx": {6, 7, 8, 9}}[name]

    def kept(line):
        cells = line.removesuffix(b"\r").split(b"\t")
        is_word = name == "conll" or cells[0].isdigit()
        return [cell for place, cell in enumerate(cells) if not is_word or place not in predicted], line[-1:] == b"\r"

    lines = [content.split(b"\n") for content in (out.read_bytes(), text + b"\n")]
    assert [kept(line) for line in lines[0]] == [kept(line) for line in lines[1]]


@pytest.mark.parametrize("ending", DECOMPRESSORS)
@pytest.mark.parametrize("name", ["conll", "trees", "crfsuite", "classify", "multilabel", "detect"])
def test_predictions_and_traces_are_compressed_as_their_names_say(samples, tmp_path, name, ending):
    dev = {"crfsuite": "dev.crfsuite", "classify": "dev.svm", "multilabel": "dev.sets", "detect": "dev.npz"}
    given = samples / (dev.get(name) or TASKS[name])
    run("predict", samples / f"{name}.model", given, "-o", tmp_path / f"out{ending}")
    packed = (tmp_path / f"out{ending}").read_bytes()
    assert DECOMPRESSORS[ending](packed).decode() == run("predict", samples / f"{name}.model", given).stdout
    arguments = train_arguments(name, samples)
    arguments = arguments[: arguments.index("--save-state")]
    for trace in ("t", f"t{ending}"):
        run(*arguments, "--model", tmp_path / "m", "--trace", tmp_path / trace)
    rows = [json.loads(line) for line in DECOMPRESSORS[ending]((tmp_path / f"t{ending}").read_bytes()).splitlines()]
    assert len(rows) == len(json_lines(tmp_path / "t")) > 2
    assert [row.get("primal") for row in rows] == [row.get("primal") for row in json_lines(tmp_path / "t")]


def test_compressed_predictions_of_a_stream_come_as_sentences_end(samples, tmp_path):
    pipe = tmp_path / "out.gz"
    process = start("predict", samples / "conll.model", "-", "-o", pipe)
    process.stdin.write(b"the\ndog\n\nit\n")
    out, said = process.communicate(timeout=TIMEOUT)
    assert (out, said, process.returncode) == (b"", b"", 0)
    assert gzip.decompress(pipe.read_bytes()).count(b"\n") == 4


def test_a_model_is_not_compressed_whatever_its_name(samples, tmp_path):
    run("train", "tag", samples / "train.conll", "--model", tmp_path / "m.gz", "--max-iter", "1", "--quiet")
    run("train", "tag", samples / "train.conll", "--model", tmp_path / "m", "--max-iter", "1", "--quiet")
    assert (tmp_path / "m.gz").read_bytes()[:2] != b"\x1f\x8b"
    assert run("inspect", tmp_path / "m.gz", "--json").stdout == run("inspect", tmp_path / "m", "--json").stdout


def test_lines_of_lists_end_where_those_of_all_files_do(tmp_path):
    """Letters that Unicode takes for ends of lines, or for blanks, can stand in words."""
    (tmp_path / "names").write_text("New\u00a0York\r\nSan \t Francisco\na\u2028b c\n\n", encoding="utf-8")
    (tmp_path / "brown").write_text("01\ta\u2028b\t3\r\n00\tc\u0085\t1\n", encoding="utf-8")
    lists = Lists.read(tmp_path / "brown", {"g": tmp_path / "names"})
    names = lists.gazetteers["g"]
    assert {names.name(place) for place in range(len(names))} == {"New\u00a0York", "San Francisco", "a\u2028b c"}
    assert [lists.cluster_words.name(place) for place in range(2)] == ["a\u2028b", "c\u0085"]
    features = tmp_path / "templates"
    features.write_text("gazetteer[0]\n")
    tagger = SequenceTagger(features=str(features), gazetteers={"g": tmp_path / "names"}, max_iter=9)
    tagger.fit([["in", "New\u00a0York", "a\u2028b", "c", "San"]], [["O", "B", "B", "I", "O"]])
    assert tagger.predict([["San", "Francisco", "New\u00a0York"]]) == [["B", "I", "B"]]


def test_lines_of_costs_end_where_those_of_all_files_do(tmp_path):
    write_libsvm(tmp_path / "x.svm", [[1], [2]], ["a\u2028b", "c\u00a0d"])
    (tmp_path / "costs").write_text("a\u2028b c\u00a0d 2 # twice\r\n\nc\u00a0d a\u2028b nonsense\n", encoding="utf-8")
    train = ["train", "classify", tmp_path / "x.svm", "--model", tmp_path / "m", "--cost-matrix", tmp_path / "costs"]
    assert f"{tmp_path / 'costs'}, line 3: found" in fails(*train, "--quiet")


def test_labels_that_are_not_whole_numbers_do_not_matter_to_predictions(tmp_path):
    MulticlassClassifier(max_iter=3).fit([[1.0], [-1.0]], [1, 2]).save(tmp_path / "m")
    (tmp_path / "x.svm").write_text("1.5 1:1\nname 1:-1\n 1:1\n1:-1\n# none\n")
    assert run("predict", tmp_path / "m", tmp_path / "x.svm").stdout == "1\n2\n1\n2\n"


@pytest.mark.parametrize("name", ["trees", "conllx"])
def test_standard_input_has_the_format_of_the_training_files(samples, name):
    content = (samples / TASKS[name]).read_bytes()
    by_name = run("evaluate", samples / f"{name}.model", samples / TASKS[name], *OPTIONS.get(name, [])).stdout
    assert run("evaluate", samples / f"{name}.model", "-", stdin=content).stdout == by_name
