"""CoNLL-U, CoNLL-U Plus and CoNLL-X as files with trees: what is read, and what is written back."""

import io

import numpy as np
import pytest

from marginloom import _core
from marginloom.errors import InputError
from marginloom.io.conll import Layout, parse, read_corpus, stream_corpora
from marginloom.io.formats import LABELLED, TREEBANKS, common_format, format_of

CONLLU = (
    "# text = vámonos al mar\r\n"
    "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tvamos\tir\tVERB\tV\tMood=Imp\t0\troot\t0:root\t_\n"
    "2\tnos\tnosotros\tPRON\tP\t\t1\tobj\t1:obj|4:x\tA b\r\n"
    "3\tal\tal\tADP\tE\t_\t4\tcase\t_\t_\n"
    "3.1\tghost\t_\t_\t_\t_\t_\t_\t1:x\t_\n"
    "4\tmar\tmar\tNOUN\tN\t_\t1\tobl\t_\tSpaceAfter=No\n"
    "\n \t\n# end\n\n"
)
CONLLX = (
    "1\t#\t_\tX\tXX\t_\t2\tdep\t2\tdep\n2\tgo\tgo\tV\tVB\tf\t0\tROOT\t0\tROOT\n\n1\tno\t_\tU\tUH\t_\t0\tROOT\t_\t_\n"
)
HEADS = np.array([4, 1, 1, 0])


def vocabulary(*names):
    found = _core.Vocabulary()
    found.encode_strings(names, grow=True)
    return found


def test_end_of_a_name_means_another_format_to_trees():
    assert format_of("a.conll") == "conll"
    assert format_of("a.conll", known=TREEBANKS) == format_of("a.conllx.xz", known=TREEBANKS) == "conllx"
    for known in (LABELLED, TREEBANKS):
        assert format_of("a.conllu.gz", known=known) == "conllu"
        assert format_of("b.gz/a.conllu.XZ", known=known) == format_of("a.xz.conllu", known=known) == "conllu"
        assert format_of("a.conllup", known=known) == "conlluplus"
    assert format_of("a.txt") == "conll"
    assert format_of("a.txt", known=TREEBANKS) == "conllu"
    assert format_of("a.txt", trained="conllx", known=TREEBANKS) == "conllx"
    assert format_of("a.conll", "conllu", known=TREEBANKS) == "conllu"
    with pytest.raises(InputError, match="conllu and conllx cannot be mixed"):
        common_format(["a.conll", "b.conllu"], known=TREEBANKS)


@pytest.mark.parametrize(("format", "known"), [("conllx", LABELLED), ("conll", TREEBANKS), ("crfsuite", TREEBANKS)])
def test_format_that_a_task_does_not_read_is_refused_with_those_that_it_does(format, known):
    with pytest.raises(InputError, match=f"no format '{format}'; there are: {', '.join(known.names)}"):
        format_of("a.txt", format, known=known)


def test_columns_are_found_by_what_they_are():
    wanted = ("FORM", "UPOS", "XPOS", "HEAD", "DEPREL")
    assert [Layout.of("conllu", "", "f").column(name) for name in wanted] == [1, 3, 4, 6, 7]
    assert [Layout.of("conllx", "", "f").column(name) for name in wanted] == [1, 3, 4, 6, 7]
    plus = Layout.of("conlluplus", "# global.columns = HEAD FORM UPOS\n", "f")
    assert [plus.column(name) for name in wanted] == [1, 2, None, 0, None]
    assert Layout.of("conllx", "", "f").column("PHEAD") == 8
    assert Layout.of("conllu", "", "f").column("PHEAD") is None


def test_missing_column_is_an_error_that_says_what_to_do():
    plus = parse(b"# global.columns = ID FORM\n1\ta\n", "conlluplus", "x.conllup")
    with pytest.raises(InputError, match=r"x.conllup, line 1: found the columns ID FORM, expected HEAD .*columns ="):
        plus.column("HEAD")
    with pytest.raises(InputError, match=r"x.conll, line 1: found plain columns, expected HEAD.*--format"):
        parse(b"a X\n", "conll", "x.conll").column("HEAD")


def test_conllx_is_read_with_ten_columns_and_no_comments(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text(CONLLX)
    corpus = read_corpus([path], known=TREEBANKS)
    assert corpus.format == "conllx"
    assert corpus.sentences.tolist() == [0, 2, 3]
    assert corpus.labels(1).values().tolist() == ["#", "go", "no"]
    path.write_text("# a comment\n" + CONLLX)
    with pytest.raises(
        InputError, match=r"x.conll, line 1: found 1 column, expected 10 separated by tabs, as in CoNLL-X"
    ):
        read_corpus([path], known=TREEBANKS)


def test_tagger_reads_the_same_file_as_plain_columns(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text(CONLLX)
    assert read_corpus([path]).format == "conll"


def test_trees_replace_heads_and_labels_and_nothing_else():
    corpus = parse(CONLLU.encode(), "conllu", "f")
    written = corpus.with_trees(HEADS, vocabulary("root", "x:y"), np.array([1, 1, 1, 0], dtype=np.uint16))
    expected = CONLLU.replace("\t0\troot\t0:root\t", "\t4\tx:y\t_\t").replace("\t1\tobj\t1:obj|4:x\t", "\t1\tx:y\t_\t")
    expected = expected.replace("\t4\tcase\t_\t", "\t1\tx:y\t_\t").replace("\t1\tobl\t_\t", "\t0\troot\t_\t")
    assert written == expected.encode()


def test_unlabelled_trees_are_written_as_root_and_dep():
    written = parse(CONLLU.encode(), "conllu", "f").with_trees(HEADS, None, None)
    again = parse(written, "conllu", "f")
    assert again.labels(6).values().tolist() == ["4", "1", "1", "0"]
    assert again.labels(7).values().tolist() == ["dep", "dep", "dep", "root"]


def test_trees_of_conllx_leave_no_projective_heads_of_others():
    corpus = parse(CONLLX.encode(), "conllx", "f")
    written = corpus.with_trees(np.array([0, 1, 0]), vocabulary("a", "b"), np.array([0, 1, 0]))
    assert written.decode() == (
        "1\t#\t_\tX\tXX\t_\t0\ta\t_\t_\n2\tgo\tgo\tV\tVB\tf\t1\tb\t_\t_\n\n1\tno\t_\tU\tUH\t_\t0\ta\t_\t_\n"
    )


def test_trees_of_conllu_plus_go_where_the_first_line_says():
    text = "# global.columns = DEPREL FORM HEAD NER\nx\ta\t2\tB\nx\tb\t0\tO\n"
    written = parse(text.encode(), "conlluplus", "f").with_trees(np.array([0, 1]), None, None)
    assert written.decode() == "# global.columns = DEPREL FORM HEAD NER\nroot\ta\t0\tB\ndep\tb\t1\tO\n"
    with pytest.raises(InputError, match="expected DEPREL"):
        parse(b"# global.columns = FORM HEAD\na\t0\n", "conlluplus", "f").with_trees(np.array([0]), None, None)


def test_pieces_of_a_stream_are_written_as_the_whole_is():
    text = (CONLLU + "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\r\n\r\n") * 30
    whole = parse(text.encode(), "conllu", "f")
    heads = np.tile(np.append(HEADS, 0), 30)
    written = b""
    for corpus in stream_corpora(io.BytesIO(text.encode()), "conllu", "f"):
        tokens = int(corpus.sentences[-1])
        written += corpus.with_trees(heads[:tokens], None, None)
        heads = heads[tokens:]
    assert written == whole.with_trees(np.tile(np.append(HEADS, 0), 30), None, None)


def test_text_without_tokens_comes_back():
    text = b"# nothing\r\n\r\n"
    assert parse(text, "conllu", "f").with_trees(np.zeros(0, dtype=np.int64), None, None) == text


def test_long_sentences_have_heads_of_more_than_sixteen_bits():
    n = 70_000
    text = "".join(f"{i}\ta\t_\t_\t_\t_\t_\t_\t_\t_\n" for i in range(1, n + 1))
    written = parse(text.encode(), "conllx", "f").with_trees(np.arange(n), None, None)
    assert written.splitlines()[-1].split(b"\t")[6] == str(n - 1).encode()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([(10, vocabulary("a"), np.zeros(4, np.uint32))], "no such column"),
        ([(6, vocabulary("a"), np.zeros(3, np.uint32))], "too few or too many"),
        ([(6, vocabulary("a"), np.ones(4, np.uint32))], "beyond the vocabulary"),
    ],
)
def test_cells_that_do_not_fit_are_refused(columns, message):
    (table,) = parse(CONLLU.encode(), "conllu", "f").tables
    with pytest.raises(ValueError, match=message):
        table.with_columns(columns)
