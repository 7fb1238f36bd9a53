"""Outputs as bytes and back."""

import contextlib
import math
from collections import namedtuple
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from marginloom import InputError
from marginloom.tasks.custom.plain_values import decode_value, encode_value

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None))
    | st.binary()
)
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.lists(inner).map(tuple), max_leaves=20)
kinds = npst.boolean_dtypes() | npst.integer_dtypes() | npst.unsigned_integer_dtypes() | npst.floating_dtypes()
arrays = npst.arrays(kinds, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))


def same_kind(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same_kind, one, other))
    return one == other


def same_again(value):
    encoded = encode_value(value)
    return encode_value(decode_value(encoded)) == encoded


@given(values)
def test_plain_values_come_back_equal_and_of_the_same_types(value):
    encoded = encode_value(value)
    assert same_kind(decode_value(encoded), value)
    assert encode_value(decode_value(encoded)) == encoded


@given(values, values)
def test_only_equal_values_have_equal_bytes(one, other):
    assert (encode_value(one) == encode_value(other)) == same_kind(one, other)


@given(arrays)
def test_arrays_come_back_equal_in_the_widest_type_of_their_kind(array):
    decoded = decode_value(encode_value([array]))[0]
    np.testing.assert_array_equal(decoded, array)
    assert decoded.shape == array.shape
    wide = {"b": "b", "i": "i", "u": "iu", "f": "f"}[array.dtype.kind]
    assert decoded.dtype.kind in wide
    assert decoded.dtype.itemsize == (1 if wide == "b" else 8)
    assert encode_value([decoded]) == encode_value([array])
    decoded[...] = 0  # it is the caller's own


@pytest.mark.parametrize(
    ("numpy_value", "plain"),
    [
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.float64(2.5), 2.5),
        (np.bool_(True), True),
        (np.str_("ä"), "ä"),
        (-0.0, 0.0),
    ],
)
def test_equal_numbers_have_equal_bytes_whether_they_are_of_numpy_or_not(numpy_value, plain):
    assert encode_value((numpy_value,)) == encode_value((plain,))
    assert decode_value(encode_value(numpy_value)) == plain


def test_the_same_integers_in_arrays_of_other_types_have_equal_bytes():
    encoded = {encode_value(np.array([1, 2], dtype=kind)) for kind in ("i1", "<i4", ">i8", "u2", "u8")}
    assert len(encoded) == 1
    strided = np.arange(6).reshape(2, 3).T
    assert encode_value(strided) == encode_value(strided.copy())


def test_not_a_number_stays_one():
    assert math.isnan(decode_value(encode_value(math.nan)))
    assert encode_value(np.array([-np.nan])) == encode_value(np.array([np.nan]))


class Colour(IntEnum):
    RED = 1


@pytest.mark.parametrize(
    "value",
    [
        {1},
        {"a": 1},
        object(),
        1j,
        namedtuple("Span", "start end")(1, 2),
        Colour.RED,
        np.array(["a"]),
        np.array([object()]),
        np.array([1j]),
        np.datetime64("2020-01-01"),
        np.longdouble(1),
        [(1, {2})],
    ],
)
def test_other_values_are_refused_in_a_sentence_with_advice(value):
    with pytest.raises(InputError, match=r"has no encoding of its own; .* override encode and decode"):
        encode_value(value)


def test_deep_nesting_is_refused_on_both_sides():
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InputError, match="nested"):
        encode_value(deep)
    with pytest.raises(InputError, match="not an encoded output"):
        decode_value(b"[\x01" * 5000 + b"N")


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused(data):
    with contextlib.suppress(InputError):
        assert same_again(decode_value(data))


@given(values, st.data())
def test_bytes_that_are_cut_short_or_go_on_are_refused(value, data):
    encoded = encode_value(value)
    with pytest.raises(InputError):
        decode_value(encoded[: data.draw(st.integers(0, len(encoded) - 1))])
    with pytest.raises(InputError, match="something follows"):
        decode_value(encoded + b"N")
