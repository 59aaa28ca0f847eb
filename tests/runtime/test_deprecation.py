"""What is to go still works, and says what replaces it and when it goes."""

import pytest

from pysirus._runtime.console import deprecated, renamed_parameter


def test_a_deprecated_function_works_and_names_its_replacement():
    @deprecated("twice()", "0.5")
    def double(x):
        """Two times x."""
        return 2 * x

    with pytest.warns(
        FutureWarning, match=r"double\(\) is deprecated .* removed in pysirus 0\.5; use twice\(\)"
    ) as found:
        assert double(3) == 6
    assert found[0].filename == __file__ and double.__doc__ == "Two times x."


def test_a_renamed_parameter_is_taken_by_both_names_and_not_by_two(recwarn):
    @renamed_parameter("weights", "sample_weight", "0.5")
    def fit(X, sample_weight=None):
        return X, sample_weight

    assert fit(1, sample_weight=2) == (1, 2) and fit(1) == (1, None) and not recwarn.list
    with pytest.warns(FutureWarning, match="weights= is deprecated .* use sample_weight= instead"):
        assert fit(1, weights=None) == (1, None)
    with pytest.raises(TypeError, match="sample_weight and weights"):
        fit(1, sample_weight=2, weights=3)
