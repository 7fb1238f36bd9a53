"""Trees that do not fit: repaired, left out, or an error that names the place."""

import warnings

import numpy as np
import pytest

from marginloom import DependencyParser
from marginloom.errors import InputError, InputWarning
from marginloom.io.conll import parse
from marginloom.tasks.parse.gold import check_trees, fitting_trees
from marginloom.tasks.parse.treebank import Treebank
from marginloom.tasks.parse.trees import projectivised

PROJECTIVE, CROSSING = [2, 0, 2], [3, 0, 2]


def bank(*trees):
    return Treebank.from_lists(
        [[("word", "X")] * len(tree) for tree in trees],
        [[(head, f"{i}.{place}") for place, head in enumerate(tree)] for i, tree in enumerate(trees)],
    )


def file_bank(*trees):
    text = "".join(
        "# a comment\n" + "".join(f"{i}\ta\t_\t_\t_\t_\t{head}\tx\t_\t_\n" for i, head in enumerate(tree, 1)) + "\n"
        for tree in trees
    )
    return Treebank.from_corpus(parse(text.encode(), "conllu", "f.conllu"))


@pytest.mark.parametrize("invalid_gold", ["repair", "skip", "error"])
@pytest.mark.parametrize("projective", [True, False])
def test_trees_that_fit_come_back_without_a_word(invalid_gold, projective):
    given = bank(PROJECTIVE, [], [0])
    with warnings.catch_warnings(action="error"):
        fitting = fitting_trees(given, projective, one_root=True, invalid_gold=invalid_gold)
    assert fitting.heads is given.heads
    assert fitting.labels is given.labels
    assert fitting.kept is None


def test_crossing_arcs_are_fine_where_trees_need_not_be_projective():
    given = bank(CROSSING)
    with warnings.catch_warnings(action="error"):
        assert fitting_trees(given, projective=False, one_root=True).heads is given.heads


def test_non_projective_trees_are_repaired_by_default_and_counted():
    given = bank(PROJECTIVE, CROSSING, PROJECTIVE)
    before = given.heads.copy()
    expected = (
        "1 of 3 sentences have non-projective trees, which projective parsing cannot predict: repaired, "
        "by lifting 1 arc$"
    )
    with pytest.warns(InputWarning, match=expected) as caught:
        fitting = fitting_trees(given, projective=True, one_root=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert fitting.heads.tolist() == [*PROJECTIVE, *projectivised(CROSSING).tolist(), *PROJECTIVE]
    assert fitting.labels is given.labels
    assert fitting.kept is None
    assert np.array_equal(given.heads, before)


def test_non_projective_trees_are_left_out_with_their_labels():
    with pytest.warns(InputWarning, match="2 of 4 sentences have non-projective trees, .*: left out"):
        fitting = fitting_trees(bank(CROSSING, PROJECTIVE, CROSSING, [0]), True, True, "skip")
    assert fitting.heads.tolist() == [*PROJECTIVE, 0]
    assert fitting.labels.values().tolist() == ["1.0", "1.1", "1.2", "3.0"]
    assert fitting.kept.tolist() == [False, True, False, True]


@pytest.mark.parametrize("trees", [[CROSSING], [CROSSING, []]])
def test_leaving_out_everything_is_an_error(trees):
    with pytest.raises(InputError, match="skipping leaves nothing to learn from; have them repaired"):
        fitting_trees(bank(*trees), True, True, "skip")


def test_error_names_the_first_places_and_what_to_do():
    expected = (
        "5 sentences have non-projective trees, .*: f.conllu, line 7: the arc from word 3 to word 1; "
        "f.conllu, line 12: .* and 2 more; have them repaired or skipped"
    )
    with pytest.raises(InputError, match=expected):
        fitting_trees(file_bank(PROJECTIVE, *[CROSSING] * 5), True, True, "error")
    with pytest.raises(InputError, match="sentence 0, word 1: the arc from word 3 to word 1; have"):
        fitting_trees(bank(CROSSING), True, True, "error")


@pytest.mark.parametrize("invalid_gold", ["repair", "skip", "error"])
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([0, 0], "f.conllu, line 8: word 2 has the head 0, and word 1 is a root already; .*--roots many"),
        ([2, 1], "f.conllu, line 7: no word has the head 0, so that there is no root; mend the heads"),
        ([0, 2], "f.conllu, line 8: word 2 is its own head; mend the heads"),
        ([0, 3, 2], "f.conllu, line 8: word 2 is below itself"),
    ],
)
def test_broken_trees_are_always_errors_by_place(tree, message, invalid_gold, projective):
    with pytest.raises(InputError, match=message):
        fitting_trees(file_bank(PROJECTIVE, tree), projective, True, invalid_gold)


def test_head_out_of_range_is_an_error_by_place():
    given = Treebank([], np.array([0, 2], np.uint64), np.array([0, 3]), None)
    with pytest.raises(InputError, match="sentence 0, word 2: word 2 has the head 3"):
        fitting_trees(given, True, True)


def test_several_roots_are_fine_where_they_are_allowed():
    with warnings.catch_warnings(action="error"):
        assert fitting_trees(bank([0, 0]), True, one_root=False).heads.tolist() == [0, 0]


def test_repair_may_make_roots_only_where_several_are_allowed():
    with pytest.warns(InputWarning, match="repaired"):
        assert fitting_trees(bank([0, 0, 1]), True, one_root=False).heads.tolist() == [0, 0, 0]


def test_unknown_policy_is_refused():
    with pytest.raises(InputError, match="invalid_gold must be one of repair, skip, error, not 'ignore'"):
        fitting_trees(bank(PROJECTIVE), True, True, "ignore")


def test_no_sentence_is_no_fault():
    assert fitting_trees(Treebank.from_lists([], []), True, True).heads.size == 0


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1], "no word has the head 0"),
        ([0, 3, 2], "word 2 is below itself, over the heads 3, 2"),
        ([0, 2], "word 2 is its own head"),
    ],
)
def test_heads_to_score_on_that_make_no_tree_are_an_error_with_their_place(heads, message):
    parser = DependencyParser(max_iter=1, hash_bits=8).fit([[("a", "X"), ("b", "Y")]], [[0, 1]])
    X, y = [[("a", "X")], [("a", "X")] * len(heads)], [[0], heads]
    place = f"sentence 1, word {heads.index(0) + 2 if 0 in heads else 1}: {message}"
    with pytest.raises(InputError, match=place):
        parser.score(X, y)
    with pytest.raises(InputError, match=place):
        parser.fit([[("a", "X")]], [[0]], eval_set=(X, y))
    line = 6 if 0 in heads else 5
    with pytest.raises(InputError, match=rf"f\.conllu, line {line}: {message}"):
        check_trees(file_bank([0], heads))


def test_trees_to_score_on_may_have_several_roots_and_crossing_arcs():
    parser = DependencyParser(max_iter=1, hash_bits=8).fit([[("a", "X"), ("b", "Y")]], [[0, 1]])
    assert 0 <= parser.score([[("a", "X")] * 2, [("a", "X")] * 4], [[0, 0], [3, 4, 0, 3]]) <= 1
    with pytest.raises(InputError, match="word 2 has the head 0, and word 1 is a root already"):
        check_trees(bank([0, 0]), one_root=True)
