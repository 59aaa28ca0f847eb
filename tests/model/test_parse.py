"""How deep a text is nested is known before it is read, whatever its strings hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysirus._model import kinds
from pysirus._model.kinds import Damage

NAMES = st.text('[]{}"\\,:aé\n', max_size=6)
DOCUMENTS = st.recursive(
    NAMES | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def depth(document: object) -> int:
    if isinstance(document, dict):
        document = list(document.values())
    return 1 + max(map(depth, document), default=0) if isinstance(document, list) else 0


@settings(max_examples=100)
@given(document=DOCUMENTS, ascii=st.booleans(), block=st.sampled_from([1, 5, 1 << 20]))
def test_depth_is_that_of_lists_and_objects_not_of_strings(document, ascii, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinds, "BLOCK", block)
        assert kinds._depth(json.dumps(document, ensure_ascii=ascii)) == depth(document)


def test_a_text_is_refused_from_a_certain_depth():
    deep = "[" * kinds.MAX_DEPTH + "]" * kinds.MAX_DEPTH
    assert depth(kinds.parse(deep)) == kinds.MAX_DEPTH
    with pytest.raises(Damage, match="nested too deeply"):
        kinds.parse(f"[{deep}]")


@pytest.mark.parametrize("text", ['"\\', '"' + '\\"' * 200_000, '"' * 200_001, "]" * 200_000])
def test_text_that_ends_in_the_middle_is_not_json(text):
    with pytest.raises(json.JSONDecodeError):
        kinds.parse(text)
