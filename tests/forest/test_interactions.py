"""Trees whose paths hold no features that may not stand together: split for split those of the oracle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from problems import SETS, grow, grow_in_parts, make_problem
from pysirus import _core
from pysirus._forest.forest import InteractionConstraint

N_FEATURES = 5
FEATURES = st.integers(0, N_FEATURES - 1)
LIMITS = st.builds(
    InteractionConstraint,
    most=st.sampled_from([None, None, 1, 2, 3]),
    groups=st.lists(st.frozensets(FEATURES), max_size=3).map(tuple),
    apart=st.frozensets(st.frozensets(FEATURES, min_size=1, max_size=2), max_size=3),
)


def problem_of(together, seed, depth, max_features, n_outputs=0):
    recipe = {"max_depth": depth, "max_features": max_features, "min_node_size": 2, "together": together}
    return make_problem(60, [4, 5, 3, 6, 2], missing=[1], n_outputs=n_outputs, seed=seed, **recipe)


def sets_of(problem, splits):
    """The features of every path."""
    offset = problem.split_offset
    for path in oracle.path_counts(splits):
        yield {int((offset <= code // 2).sum()) - 1 for code in path}


@settings(max_examples=60)
@given(LIMITS, st.integers(0, 2**32), st.integers(1, 4), st.integers(1, N_FEATURES), st.sampled_from([0, 3]), st.data())
def test_limited_trees_are_those_of_the_oracle(together, seed, depth, max_features, n_outputs, data):
    problem = problem_of(together, seed, depth, max_features, n_outputs)
    expected = oracle.grow(problem, 3, 3).tolist()
    assert grow(problem, 3, 3, instruction_set=data.draw(st.sampled_from(SETS))).tolist() == expected
    assert grow_in_parts(problem, [20, 21], 3, 3).tolist() == expected
    assert all(together.allows(found) for found in sets_of(problem, grow(problem, 40)))


def test_more_than_64_groups():
    trios = tuple(frozenset((2, 3, 4)) for _ in range(70))
    together = InteractionConstraint(groups=(*trios, frozenset((0, 1))))
    problem = problem_of(together, 1, 4, 2)
    splits = grow(problem, 50)
    assert all(together.allows(found) for found in sets_of(problem, splits))
    assert {0, 1} in list(sets_of(problem, splits)) and {2, 3, 4} in list(sets_of(problem, splits))
    assert splits.tolist() == grow_in_parts(problem, [30], 50).tolist()


def test_no_limits_are_no_change():
    everything = InteractionConstraint(most=5, groups=(frozenset(range(5)),), apart=frozenset([frozenset((7, 8))]))
    free, limited = problem_of(InteractionConstraint(), 4, 3, 2), problem_of(everything, 4, 3, 2)
    assert grow(free, 100).tolist() == grow(limited, 100).tolist()


@pytest.mark.parametrize(
    "wrong", [{"most_together": -1}, {"groups": [1, 2, 3]}, {"apart": [0, 1]}], ids=lambda wrong: next(iter(wrong))
)
def test_the_core_refuses_limits_of_another_shape(wrong):
    columns = ([4, 4], [0, 0], [0, 3, 6], 1, False, [2**31], 0, 2, 1, 5)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        _core.Plan(*columns, **wrong)
