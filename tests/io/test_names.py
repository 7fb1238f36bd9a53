"""Names of files in messages: readable text, whatever bytes they have."""

import doctest
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom.io import names
from marginloom.io.names import quoted, shown


def test_examples_in_the_documentation_hold():
    assert doctest.testmod(names).failed == 0


@given(st.binary(min_size=1).filter(lambda name: 0 not in name))
def test_every_name_is_shown_as_text(name):
    path = os.fsdecode(name)
    for text in (shown(path), quoted(path)):
        text.encode()
    assert quoted(path)[0] == quoted(path)[-1] in "'\""


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_text_is_shown_as_it_is(name):
    assert shown(name) == name
    assert quoted(name) == repr(name)


@pytest.mark.parametrize(
    ("name", "text", "in_quotes"),
    [
        (b"\xff", r"\xff", r"'\xff'"),
        (b"a\x80\xc3\xa9", "a\\x80é", "'a\\x80é'"),
        (b"a'\xe9\n", "a'\\xe9\n", '"a\'\\xe9\\n"'),
        (b"\\\xe9", "\\\\xe9", r"'\\\xe9'"),
    ],
)
def test_bytes_that_are_no_text_are_shown_by_their_numbers(name, text, in_quotes):
    assert shown(os.fsdecode(name)) == text
    assert quoted(os.fsdecode(name)) == in_quotes


def test_a_backslash_in_a_name_is_no_escape():
    assert quoted("a\\udce9") == repr("a\\udce9")
    assert quoted("\\\udce9") == r"'\\\xe9'"
    assert shown("\ud800") == r"\ud800"
