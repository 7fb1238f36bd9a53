"""Trees against their definitions, on all small ones and on random larger ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom.errors import InputError
from marginloom.tasks.parse import trees
from marginloom.tasks.parse.trees import (
    CYCLE,
    EMPTY,
    NO_ROOT,
    RANGE,
    ROOTS,
    find_fault,
    is_projective,
    nonprojective_arcs,
    projectivised,
)


def ancestors(heads, word):
    """The heads above a word up to 0, or None if they never get there."""
    way = []
    while word:
        word = heads[word - 1]
        way.append(word)
        if len(way) > len(heads):
            return None
    return way


def is_tree(heads):
    return all(ancestors(heads, word) is not None for word in range(1, len(heads) + 1))


def all_trees(longest):
    for n in range(1, longest + 1):
        yield from (heads for heads in itertools.product(range(n + 1), repeat=n) if is_tree(heads))


def arcs_that_break_the_definition(heads):
    """Words with a word between them and their head that the head does not dominate."""
    found = []
    for word, head in enumerate(heads, 1):
        between = range(min(word, head) + 1, max(word, head))
        if any(head not in ancestors(heads, other) for other in between):
            found.append(word)
    return found


def arcs_cross(heads):
    arcs = [sorted(arc) for arc in enumerate(heads, 1)]
    return any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


def lifted_by_definition(heads):
    heads = list(heads)
    while broken := arcs_that_break_the_definition(heads):
        word = min(broken, key=lambda word: (abs(word - heads[word - 1]), word))
        heads[word - 1] = heads[heads[word - 1] - 1]
    return heads


@st.composite
def random_trees(draw, longest=30):
    """Attach words in a random order to one that came before."""
    n = draw(st.integers(1, longest))
    order = draw(st.permutations(range(1, n + 1)))
    one_root = draw(st.booleans())
    heads = [0] * n
    for place, word in enumerate(order):
        least = 0 if place and one_root else -1
        above = draw(st.integers(least, place - 1))
        heads[word - 1] = order[above] if above >= 0 else 0
    return heads


def test_projectivity_is_that_of_the_definition_for_all_trees_of_up_to_five_words():
    count = 0
    for heads in all_trees(5):
        broken = arcs_that_break_the_definition(heads)
        assert nonprojective_arcs(heads).tolist() == broken
        assert is_projective(heads) == (not broken) == (not arcs_cross(heads))
        count += 1
    assert count == 1 + 3 + 16 + 125 + 1296  # labelled trees with a root at 0, by Cayley's formula


def test_lifting_takes_the_shortest_arc_first_for_all_trees_of_up_to_five_words():
    for heads in all_trees(5):
        assert projectivised(heads).tolist() == lifted_by_definition(heads)


@given(random_trees())
def test_lifting_ends_in_a_projective_tree_and_keeps_one_root(heads):
    lifted = projectivised(heads)
    assert find_fault(lifted, one_root=heads.count(0) == 1) is None
    assert not arcs_that_break_the_definition(lifted.tolist())
    assert lifted.tolist() == lifted_by_definition(heads)
    assert is_projective(heads) == np.array_equal(heads, lifted)
    assert nonprojective_arcs(heads).tolist() == arcs_that_break_the_definition(heads)


@given(random_trees(12))
def test_lifting_attaches_words_to_what_was_above_them(heads):
    for word, head in enumerate(projectivised(heads).tolist(), 1):
        assert head in ancestors(heads, word)


def test_arc_over_the_root_is_non_projective():
    assert nonprojective_arcs([3, 0, 2]).tolist() == [1]
    assert projectivised([3, 0, 2]).tolist() == [2, 0, 2]


def test_several_roots_may_become_more():
    heads = [0, 0, 1]
    assert find_fault(heads, one_root=False) is None
    assert projectivised(heads).tolist() == [0, 0, 0]


def test_heads_are_not_changed_in_place():
    heads = np.array([3, 0, 2])
    projectivised(heads)[0] = 7
    projectivised(np.array([0, 1, 2]))[0] = 7
    assert heads.tolist() == [3, 0, 2]


def test_no_fault_is_found_in_trees_and_one_in_everything_else():
    for n in range(1, 5):
        for heads in itertools.product(range(n + 1), repeat=n):
            assert (find_fault(heads, one_root=False) is None) == is_tree(heads)
            assert (find_fault(heads, one_root=True) is None) == (is_tree(heads) and heads.count(0) == 1)


def test_word_of_a_cycle_is_on_it():
    for heads in itertools.product(range(5), repeat=4):
        fault = find_fault(heads, one_root=False)
        if fault and fault.kind == CYCLE:
            word = fault.word
            for _ in range(4):
                word = heads[word - 1]
                if word == fault.word:
                    break
            assert word == fault.word


@pytest.mark.parametrize(
    ("heads", "kind", "word", "text"),
    [
        ([], EMPTY, 0, "no word"),
        ([0, 3], RANGE, 2, "word 2 has the head 3, and the heads go from 0 to 2"),
        ([0, -1], RANGE, 2, "word 2 has the head -1"),
        ([2, 3, 1], NO_ROOT, 1, "no root"),
        ([1], CYCLE, 1, "word 1 is its own head"),
        ([0, 2], CYCLE, 2, "word 2 is its own head"),
        ([0, 3, 2], CYCLE, 2, "word 2 is below itself, over the heads 3, 2"),
        ([0, 1, 0], ROOTS, 3, "word 3 has the head 0, and word 1 is a root already"),
    ],
)
def test_fault_names_the_word_and_what_is_wrong(heads, kind, word, text):
    fault = find_fault(np.array(heads, dtype=np.int64), one_root=True)
    assert fault is not None
    assert (fault.kind, fault.word) == (kind, word)
    assert text in fault.text


def test_long_cycle_is_told_in_short():
    n = 5000
    fault = find_fault([0, *range(3, n + 1), 2], one_root=True)
    assert fault is not None
    assert len(fault.text) < 100


def test_long_sentences_take_no_recursion_and_no_square_of_time():
    n = 200_000
    for heads in (range(n), [0, *[1] * (n - 1)], [*range(2, n + 1), 0]):
        assert find_fault(heads, one_root=True) is None
        assert is_projective(heads)
        assert nonprojective_arcs(heads).size == 0


def test_long_sentence_with_crossing_arcs_is_lifted():
    heads = [0, 1, *([1, 2] * 1500)]
    lifted = projectivised(heads)
    assert is_projective(lifted)
    assert find_fault(lifted, one_root=True) is None


def test_sentence_that_cannot_be_lifted_in_memory_is_refused(monkeypatch):
    def refuse(work, needs, way_out):
        raise InputError(f"{work} needs too much; {way_out}")

    monkeypatch.setattr(trees, "require_memory", refuse)
    assert is_projective(projectivised([0, 1, 2]))
    assert projectivised([3, 0, 2]).tolist() == [2, 0, 2]
    with pytest.raises(InputError, match="crossing arcs of a sentence of 2,000 words"):
        projectivised([3, 0, 2, *range(3, 2000)])
