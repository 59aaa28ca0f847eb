"""Names of columns in a text with commas: found as they are, or refused where two would fit."""

import pytest

from pysirus._data.column import DataError
from pysirus._data.read import names_in


@pytest.mark.parametrize(
    "text, known, found",
    [
        ("a", ["a", "b"], ["a"]),
        ("a, b", ["a", "b"], ["a", "b"]),
        ("a, b", ["a, b"], ["a, b"]),
        ("'a,b'", ["a", "b", "a,b"], ["a,b"]),
        ("x ", ["x", "x "], ["x "]),
        ("'x ',y", ["x", "x ", "y"], ["x ", "y"]),
        ("x ,y", ["x", "y"], ["x", "y"]),
        ("x ,gone", ["x"], ["x", "gone"]),
    ],
)
def test_names_are_found(text, known, found):
    assert names_in(text, known, "--drop") == found


@pytest.mark.parametrize("text, known", [("a,b", ["a", "b", "a,b"]), ("x ,y", ["x", "x ", "y"])])
def test_a_text_that_fits_two_columns_is_refused(text, known):
    with pytest.raises(DataError, match=r"--drop: .* may be the column"):
        names_in(text, known, "--drop")
