"""Pages say of which version their results are: the repository's do, others are refused."""

import json

import pytest
from studies.constraints import prices
from studies.results import FINGERPRINT, RESULTS, say
from trust import stale


def test_every_page_says_the_version_of_its_results():
    found = [stale.look_at(page) for page in stale.PAGES]
    assert {own.page: own.problem for own in found if own.problem} == {}


def test_prices_of_restrictions_are_what_the_results_say(tmp_path):
    found, page = json.loads(prices.RESULTS.read_text(encoding="utf-8")), tmp_path / "page.md"
    page.write_text(prices.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    prices.write(found, page)
    assert page.read_text(encoding="utf-8") == prices.PAGE.read_text(encoding="utf-8")
    assert len(found["lines"]) == 20 and found["lines"][0]["restriction"] == "none"


def test_the_version_stands_for_what_the_code_gives():
    assert stale.fingerprint() == FINGERPRINT, "other lists: see trust/stale.py for what to do"


@pytest.mark.parametrize(
    ("text", "kept", "problem"),
    [
        (say(RESULTS), RESULTS, None),
        (say(1), 1, None),
        ("no word of it", RESULTS, "0 times"),
        (say(RESULTS) * 2, RESULTS, "2 times"),
        (say(RESULTS), 1, f"says {RESULTS}, and r.jsonl has 1"),
        ("*Results version 1.*", 1, f"does not say that the code is at {RESULTS}"),
        ("*Results version 1; the code is at 2.*", 1, f"does not say that the code is at {RESULTS}"),
    ],
)
def test_a_page_of_another_version_is_refused(text, kept, problem, tmp_path, monkeypatch):
    monkeypatch.setitem(stale.PAGES, "page.md", "r.jsonl")
    (tmp_path / "page.md").write_text(f"# Results\n\n{text}\n")
    (tmp_path / "r.jsonl").write_text(f'{{"job": "a", "results": {kept}}}\n')
    found = stale.look_at("page.md", tmp_path).problem
    assert found is None if problem is None else problem in found
