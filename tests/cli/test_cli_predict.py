"""`marginloom predict`: the same text back with labels, from files and streams."""

import gzip
import lzma
import os
import signal
import subprocess
import threading
from itertools import pairwise

import pytest
from support.program import PROGRAM, TIMEOUT, column, conllu, last_json, names_in, run, start

from marginloom.tasks.sequence.datasets import make_tagging, write_conll
from marginloom.tasks.sequence.model import SequenceModel

SENTENCE = b"the\tDET\ndog\tNOUN\n\n"


@pytest.fixture(scope="module")
def conllu_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conllu")
    (folder / "train.conllu").write_text(conllu(*make_tagging(120)))
    run("train", "tag", folder / "train.conllu", "--model", folder / "model", "--tol", "0.05")
    return folder / "model"


def predicted_by_python(model, words):
    tagger = SequenceModel.load(model)
    offsets, numbers = tagger.predict(words)
    labels = tagger.labels.decode(numbers).tolist()
    return [labels[a:b] for a, b in pairwise(offsets)]


@pytest.fixture
def within_time():
    """Give a function that starts the program and kills it if the test takes too long."""
    timers = []

    def begin(*arguments, **options):
        process = start(*arguments, **options)
        timer = threading.Timer(TIMEOUT, process.kill)
        timer.start()
        timers.append((timer, process))
        return process

    yield begin
    for timer, process in timers:
        timer.cancel()
        process.kill()
        process.communicate()


def test_output_is_the_input_with_one_more_column(corpus, model):
    done = run("predict", model, corpus / "dev.conll")
    given = (corpus / "dev.conll").read_text()
    assert [line.rpartition("\t")[0] for line in done.stdout.split("\n")] == given.split("\n")
    words, _ = make_tagging(40, seed=1)
    assert column(done.stdout, 2) == predicted_by_python(model, words)
    assert done.stderr == ""


def test_standard_input_and_output_give_the_same_as_files(corpus, model, tmp_path):
    out = tmp_path / "out.conll"
    piped = run("predict", model, "-", stdin=(corpus / "dev.conll").read_bytes())
    written = run("predict", model, corpus / "dev.conll", "-o", out)
    assert written.stdout == ""
    assert out.read_text() == piped.stdout == run("predict", model, corpus / "dev.conll").stdout
    assert names_in(tmp_path) == ["out.conll"]


def test_output_option_dash_is_standard_output(corpus, model):
    plain = run("predict", model, corpus / "dev.conll").stdout
    assert run("predict", model, corpus / "dev.conll", "-o", "-").stdout == plain


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_input(corpus, model, tmp_path, suffix, compress):
    packed = tmp_path / f"dev.conll{suffix}"
    packed.write_bytes(compress((corpus / "dev.conll").read_bytes()))
    assert run("predict", model, packed).stdout == run("predict", model, corpus / "dev.conll").stdout


def test_threads_do_not_change_predictions(corpus, model):
    plain = run("predict", model, corpus / "dev.conll").stdout
    assert run("predict", model, corpus / "dev.conll", "--threads", "2").stdout == plain


def test_a_sentence_is_answered_before_the_next_one_comes(model, within_time):
    process = within_time("predict", model, "-")
    for _ in range(3):
        process.stdin.write(b"the\ndog\n\n")
        process.stdin.flush()
        answer = [process.stdout.readline() for _ in range(3)]
        assert [line.split()[:1] for line in answer] == [[b"the"], [b"dog"], []]
        assert answer[0] == b"the DET\n"
    process.stdin.write(b"it")  # neither a line end nor a blank line
    out, err = process.communicate(timeout=TIMEOUT)
    assert out == b"it PRON\n"
    assert err == b""
    assert process.returncode == 0


def test_pieces_that_cut_lines_and_characters_are_put_together(model, within_time):
    text = "the\nnaïve\n\nit\n\n".encode()
    whole = run("predict", model, "-", stdin=text).stdout
    process = within_time("predict", model, "-")
    for place in range(len(text)):
        process.stdin.write(text[place : place + 1])
        process.stdin.flush()
    out, _ = process.communicate(timeout=TIMEOUT)
    assert out.decode() == whole
    assert process.returncode == 0


def test_input_larger_than_the_stream_buffer(model, tmp_path):
    words, _ = make_tagging(3000, seed=5)
    write_conll(tmp_path / "big.conll", words)
    assert (tmp_path / "big.conll").stat().st_size > 3 * 65536
    done = run("predict", model, tmp_path / "big.conll")
    assert column(done.stdout, 1) == predicted_by_python(model, words)


def test_words_without_labels_can_be_predicted(model):
    assert run("predict", model, "-", stdin=b"the\n\nit\n").stdout == "the DET\n\nit PRON\n"


def test_empty_input_gives_empty_output(model):
    assert run("predict", model, "-", stdin=b"").stdout == ""
    assert run("predict", model, "-", stdin=b"\n\n").stdout == "\n\n"


def test_document_marks_are_kept(model):
    text = b"-DOCSTART- -X-\n\nthe DET\n\n-DOCSTART- -X-\n\nit PRON\n\n"
    lines = run("predict", model, "-", stdin=text).stdout.split("\n")
    assert [" ".join(line.split(" ")[:2]) for line in lines] == text.decode().split("\n")
    assert lines[2] == "the DET DET"
    assert {len(line.split()) for line in lines if line} == {3}


def test_line_ends_of_windows_are_no_part_of_labels(model):
    unix = run("predict", model, "-", stdin=SENTENCE * 2).stdout
    windows = run("predict", model, "-", stdin=(SENTENCE * 2).replace(b"\n", b"\r\n")).stdout
    assert windows.replace("\r\n", "\n") == unix
    assert unix.startswith("the\tDET\tDET\n")


def test_byte_order_mark_is_no_part_of_the_first_word(model):
    plain = run("predict", model, "-", stdin=b"the\nit\n").stdout
    assert run("predict", model, "-", stdin=b"\xef\xbb\xbfthe\nit\n").stdout.removeprefix("\ufeff") == plain


def test_blank_lines_with_spaces_and_several_blank_lines_are_kept(model):
    given = "the\n\n\n\nit\n \t\nthe\n"
    out = run("predict", model, "-", stdin=given.encode()).stdout
    assert out == "the DET\n\n\n\nit PRON\n \t\nthe DET\n"


def test_conllu_keeps_comments_ranges_and_empty_nodes(conllu_model, tmp_path):
    words, tags = make_tagging(15, seed=3)
    blank = [["_"] * len(sentence) for sentence in tags]
    given = conllu(words, blank, comments=True)
    (tmp_path / "in.conllu").write_text(given)
    run("predict", conllu_model, tmp_path / "in.conllu", "-o", tmp_path / "out.conllu")
    expected = conllu(words, predicted_by_python(conllu_model, words), comments=True)
    assert (tmp_path / "out.conllu").read_text() == expected


def test_standard_input_has_the_format_that_the_model_was_trained_on(conllu_model):
    given = conllu([["the", "dog"]], [["_", "_"]])
    rows = [line.split("\t") for line in run("predict", conllu_model, "-", stdin=given.encode()).stdout.split("\n")]
    assert rows[0][:4] == ["1", "the", "the", "DET"]
    assert len(rows[1]) == 10


def test_format_option_reads_standard_input_in_another_format(conllu_model):
    assert run("predict", conllu_model, "-", "--format", "conll", stdin=b"the\n").stdout == "the DET\n"


def test_output_can_be_evaluated(corpus, model, tmp_path):
    out = tmp_path / "out.conll"
    run("predict", model, corpus / "dev.conll", "-o", out)
    against_gold = last_json(run("evaluate", model, out, "--json"))
    assert against_gold == last_json(run("evaluate", model, corpus / "dev.conll", "--json"))
    against_itself = last_json(run("evaluate", model, out, "--column", "3", "--json"))
    assert against_itself["scores"]["accuracy"] == 1


def test_output_of_conllu_can_be_evaluated(conllu_model, tmp_path):
    words, tags = make_tagging(15, seed=3)
    (tmp_path / "in.conllu").write_text(conllu(words, tags, comments=True))
    run("predict", conllu_model, tmp_path / "in.conllu", "-o", tmp_path / "out.conllu")
    scores = last_json(run("evaluate", conllu_model, tmp_path / "out.conllu", "--json"))
    assert scores["scores"]["accuracy"] == 1
    assert scores["tokens"] == sum(map(len, words))


def test_reader_that_goes_away_ends_the_program_quietly(model, tmp_path, within_time):
    words, _ = make_tagging(3000, seed=5)
    write_conll(tmp_path / "big.conll", words)
    process = within_time("predict", model, tmp_path / "big.conll")
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(TIMEOUT) == 0
    assert process.stderr.read() == b""


def test_interrupted_prediction_leaves_no_file(model, tmp_path, within_time):
    process = within_time("predict", model, "-", "-o", tmp_path / "out.conll")
    process.stdin.write(SENTENCE)
    process.stdin.flush()
    while not names_in(tmp_path):  # the temporary file appears when the input is open; the fixture kills a hang
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert names_in(tmp_path) == []


def test_output_cut_off_by_a_full_disk_is_told(model, corpus):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [PROGRAM, "predict", model, corpus / "dev.conll"],
            stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"space" in done.stderr


@pytest.mark.parametrize("name", ["plain.txt", "plain.conllu"])
def test_plain_text_that_is_taken_for_columns_is_said_to_need_its_format(model, tmp_path, name):
    (tmp_path / name).write_text("The dog barks.\nIt does.\n")
    said = run("predict", model, tmp_path / name, code=1).stderr
    assert said.rstrip().endswith("; if this is plain text, use --format text")
    assert "line" in said


def test_one_line_of_plain_text_that_is_taken_for_a_token_is_warned_of(model):
    text = b"The dog barks.\n"
    assert run("predict", model, "-", stdin=text).stderr.rstrip().endswith("if this is plain text, use --format text")
    assert run("predict", model, "-", "--format", "text", stdin=text).stderr == ""
    assert run("predict", model, "-", stdin=b"dog NOUN\n\nthe DET\n").stderr == ""


def test_columns_with_tabs_are_not_taken_for_plain_text(model, tmp_path):
    (tmp_path / "in.conll").write_text("the\tDET\nit\n")
    assert "plain text" not in run("predict", model, tmp_path / "in.conll", code=1).stderr


def test_the_model_can_be_named_with_one_letter(corpus, tmp_path):
    run("train", "tag", corpus / "train.conll", "-o", tmp_path / "m", "--max-iter", "1", "--features", "words")
    assert "-o, --model OUT" in run("train", "tag", "--help").stdout
    assert run("predict", tmp_path / "m", corpus / "dev.conll").stdout
