"""The made-up treebank: the same for the same seed, trees of one root, and something to learn."""

import random
from collections import Counter, defaultdict

import pytest

from marginloom.errors import InputError
from marginloom.tasks.parse.datasets import AMBIGUITY, FINE_TAGS, GRAMMAR, PREPOSITIONS, main, make_treebank
from marginloom.tasks.parse.files import read_conllu, write_conllu
from marginloom.tasks.parse.trees import find_fault, is_projective

TAGS = {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "NUM", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB"}
LABELS = {
    "acl:relcl",
    "advcl",
    "advmod",
    "amod",
    "aux",
    "case",
    "cc",
    "ccomp",
    "compound",
    "conj",
    "cop",
    "det",
    "flat",
}
LABELS |= {"mark", "nmod", "nsubj", "nummod", "obj", "obl", "punct", "root"}


@pytest.fixture(scope="module")
def treebank():
    return make_treebank(3000)


def heads_of(tree):
    return [head for head, _ in tree]


def pairs(treebank):
    """Every word with every head that it could have, and whether it has it."""
    for words, tree in zip(*treebank, strict=True):
        for place, (head, _) in enumerate(tree, 1):
            yield [
                ((words[place - 1][2], words[other - 1][2] if other else "root", clipped(other - place)), other == head)
                for other in range(len(words) + 1)
                if other != place
            ]


def clipped(distance):
    return max(-6, min(6, distance))


def test_same_seed_gives_the_same_trees_and_another_seed_others(treebank):
    assert make_treebank(3000) == treebank
    assert make_treebank(3000, seed=1) != treebank


def test_known_sentence_stays_the_same_across_platforms_and_versions():
    X, y = make_treebank(4, seed=3, nonprojective=0.5)
    assert " ".join(form for form, _, _ in X[3]) == "broatarn redrus vadoam Snumost ."
    assert " ".join(xpos for _, _, xpos in X[3]) == "JJ NN VB NNP ."
    assert y[3] == [(2, "amod"), (3, "nsubj"), (0, "root"), (3, "obj"), (3, "punct")]


def test_global_random_state_is_neither_used_nor_changed(treebank):
    random.seed(3)
    before = random.getstate()
    assert make_treebank(3000) == treebank
    assert random.getstate() == before


@pytest.mark.parametrize("size", [0, 1, 17, 1000])
@pytest.mark.parametrize("nonprojective", [0.0, 0.4])
def test_fewer_sentences_are_the_first_of_more(size, nonprojective):
    X, y = make_treebank(1000, nonprojective=nonprojective)
    assert make_treebank(size, nonprojective=nonprojective) == (X[:size], y[:size])


def test_caller_may_change_what_it_got(treebank):
    X, y = make_treebank(5)
    X[0].append(("extra", "X", "X"))
    y[0][0] = (7, "x")
    assert make_treebank(5) == (treebank[0][:5], treebank[1][:5])


@pytest.mark.parametrize("nonprojective", [0.0, 0.3, 1.0])
def test_sentences_have_3_to_40_words_and_a_tree_with_one_root(nonprojective):
    X, y = make_treebank(1000, nonprojective=nonprojective)
    assert [len(words) for words in X] == [len(tree) for tree in y]
    assert min(map(len, X)) >= 3
    assert 30 < max(map(len, X)) <= 40
    assert all(find_fault(heads_of(tree), one_root=True) is None for tree in y)
    assert all((label == "root") == (head == 0) for tree in y for head, label in tree)


def test_share_of_non_projective_trees_is_what_was_asked_for():
    for share in (0.0, 0.1, 0.5, 1.0):
        _, y = make_treebank(2000, nonprojective=share)
        found = sum(not is_projective(heads_of(tree)) for tree in y) / len(y)
        assert found == share if share in (0, 1) else abs(found - share) < 0.03


def test_tags_and_labels_are_the_documented_ones(treebank):
    X, y = treebank
    assert {upos for words in X for _, upos, _ in words} == TAGS
    assert {xpos for words in X for _, _, xpos in words} == set(FINE_TAGS.values())
    assert {label for tree in y for _, label in tree} == LABELS


def test_label_agrees_with_the_tags_of_both_ends(treebank):
    by_label = {"det": "DET", "case": "ADP", "cc": "CCONJ", "mark": "SCONJ", "punct": "PUNCT", "nummod": "NUM"}
    for words, tree in zip(*treebank, strict=True):
        for (_, upos, _), (head, label) in zip(words, tree, strict=True):
            assert upos == by_label.get(label, upos)
            if label in ("obj", "ccomp", "obl"):
                assert words[head - 1][1] in ("VERB", "ADJ", "NOUN", "PRON", "PROPN")
            if label in ("amod", "compound", "nummod"):
                assert words[head - 1][1] == "NOUN"


def test_grammar_names_only_what_there_is():
    for rules in GRAMMAR.values():
        for _, right in rules:
            items = right.split()
            assert sum(":" not in item for item in items) == 1
            assert {item.partition(":")[0] for item in items} <= {*GRAMMAR, *FINE_TAGS}
    assert 0 < AMBIGUITY < 1


def test_tags_and_distance_tell_most_heads_and_not_all(treebank):
    X, y = treebank
    seen, right = Counter(), Counter()
    for candidates in pairs((X[:2400], y[:2400])):
        for feature, is_right in candidates:
            seen[feature] += 1
            right[feature] += is_right
    found = total = 0
    for candidates in pairs((X[2400:], y[2400:])):
        _, is_right = max(candidates, key=lambda pair: (right[pair[0]] + 0.1) / (seen[pair[0]] + 1))
        found += is_right
        total += 1
    assert 0.75 < found / total < 0.97


def test_preposition_tells_most_attachments_and_two_tell_nothing(treebank):
    labels = defaultdict(Counter)
    for words, tree in zip(*treebank, strict=True):
        for (form, _, _), (head, label) in zip(words, tree, strict=True):
            if label == "case":
                labels[form][tree[head - 1][1]] += 1
    shared = set(PREPOSITIONS["of_nouns"].split()) & set(PREPOSITIONS["of_verbs"].split())
    assert {form for form, found in labels.items() if len(found) > 1} == shared
    assert labels["of"].keys() == {"nmod"}
    assert labels["in"].keys() == {"obl"}


def test_words_of_the_test_part_are_partly_unseen(treebank):
    X, _ = treebank
    seen = {form for words in X[:2400] for form, _, _ in words}
    test = [form for words in X[2400:] for form, _, _ in words]
    assert 0.01 < sum(form not in seen for form in test) / len(test) < 0.15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_sentences": -1}, "n_sentences is -1"),
        ({"nonprojective": 1.5}, "nonprojective is 1.5"),
        ({"nonprojective": float("nan")}, "nonprojective is nan"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        make_treebank(**arguments)


def test_what_is_written_is_read_again(tmp_path, treebank):
    X, y = treebank
    write_conllu(tmp_path / "x.conllu", X[:200], y[:200])
    assert read_conllu(tmp_path / "x.conllu") == (X[:200], y[:200])


def test_odd_words_are_written_and_read(tmp_path):
    X = [[("#", "X", "#"), ("New York", "1-2", "1.1"), ("\u2028\x0b", "a b", "_")], [("-", "-", "-")]]
    y = [[(3, "x:y"), (1, "_"), (0, " ")], [(0, "\ufeff")]]
    write_conllu(tmp_path / "x.conllu", X, y)
    assert read_conllu(tmp_path / "x.conllu") == (X, y)


def test_file_without_labels_or_fine_tags_has_root_and_dep(tmp_path):
    write_conllu(tmp_path / "x.conllu", [[("a", "A"), ("b", "B")]], [[2, 0]])
    assert (tmp_path / "x.conllu").read_text() == (
        "1\ta\t_\tA\t_\t_\t2\tdep\t_\t_\n2\tb\t_\tB\t_\t_\t0\troot\t_\t_\n\n"
    )
    write_conllu(tmp_path / "none.conllu", [], [])
    assert (tmp_path / "none.conllu").read_bytes() == b""


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[("a", "A")], []], [[0], []], "sentence 1 .* is empty, which CoNLL-U cannot hold"),
        ([[("a\tb", "A")]], [[0]], r"sentence 0, word 1: found the field 'a\\tb'"),
        ([[("a", "")]], [[0]], "sentence 0, word 1: found the field ''"),
        ([[("a", "A", "x\r")]], [[0]], r"found the field 'x\\r'"),
        ([[("a", "A")]], [[(0, "x\n")]], r"found the field 'x\\n'"),
        ([[("a", "A")]], [[0, 1]], "1 words and 2 heads"),
        ([[("a", "A")]], [[2]], "found the head 2"),
    ],
)
def test_what_no_reader_would_give_back_is_refused(tmp_path, X, y, message):
    with pytest.raises(InputError, match=message):
        write_conllu(tmp_path / "x.conllu", X, y)
    assert not (tmp_path / "x.conllu").exists()


def test_command_writes_the_three_parts_into_a_new_folder(tmp_path):
    folder = tmp_path / "new" / "treebank"
    assert main([str(folder), "--sentences", "205", "--seed", "4", "--nonprojective", "0.5"]) == 0
    parts = [read_conllu(folder / f"{name}.conllu") for name in ("train", "dev", "test")]
    assert [len(X) for X, _ in parts] == [164, 20, 21]
    X, y = make_treebank(205, seed=4, nonprojective=0.5)
    assert [words for part in parts for words in part[0]] == X
    assert [tree for part in parts for tree in part[1]] == y


def test_command_that_cannot_write_says_so_and_returns_one(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([str(tmp_path / "file"), "--sentences", "20"]) == 1
    assert "cannot create the folder" in capsys.readouterr().err


def test_command_with_too_few_sentences_is_wrong_usage(tmp_path, capsys):
    with pytest.raises(SystemExit) as exit_information:
        main([str(tmp_path), "--sentences", "9"])
    assert exit_information.value.code == 2
    assert "at least 10" in capsys.readouterr().err
