"""The study of evidence: what its page says of its cells."""

import json

import pytest
from studies.evidence import tables
from studies.evidence.__main__ import DOCS, FOLDER, PAGES, PARTS
from studies.evidence.ideal import POINTS
from studies.results import put


def test_stability_between_folds_is_compared_with_halves_worked_by_hand():
    def cell(form, n_rules, folds, halves):
        pairs = {"folds": [folds, 0.01], "bootstraps": [0.5, 0.01], "halves": [halves, 0.01]}
        own = {"dataset": "d", "form": form, "n_rules": n_rules, **pairs}
        return {**own, "nearby": [0.6, 0.01], "expected_return": [0.4, 0.02]}

    # 0.6 / 0.4 = 1.5 and 0.8 / 0.4 = 2; the list of one rule is left out
    cells = [cell("plain", 5, 0.6, 0.4), cell("plain", 9, 0.8, 0.4), cell("plain", 1, 0.9, 0.1)]
    text = tables.stability([*cells, cell("stages", 20, 0.66, 0.6)])
    assert "| d | plain | 5 | 0.60 ± 0.01 | 0.50 ± 0.01 | 0.40 ± 0.01 | 0.60 ± 0.01 | 0.40 ± 0.02 |" in text
    assert text.endswith(
        "Plain lists of more than one rule are 1.5 to 2.0 times as stable between folds as between halves, "
        "lists with stages 1.1 to 1.1 times."
    )


def test_ideal_points_are_compared_with_the_default_worked_by_hand():
    def cell(form, errors, stabilities):
        return {"dataset": "d", "form": form, "points": [[5, *own] for own in zip(errors, stabilities)]}

    assert POINTS == ((0.8, 1.0), (0.9, 1.0), (1.0, 1.0), (0.9, 0.5), (0.9, 2.0))
    plain = cell("plain", [0.48, 0.5, 0.53, 0.49, 0.5], [0.6, 0.7, 0.75, 0.7, 0.7])
    stages = cell("stages", [0.4, 0.4, 0.4, 0.4, 0.45], [0.8, 0.8, 0.8, 0.78, 0.8])
    assert tables.ideal([plain, stages]).endswith(
        "another target changes the error by at most 0.03 and the stability between folds by at most 0.10; another "
        "weight changes the error by at most 0.05 and the stability between folds by at most 0.02."
    )


def test_repetitions_have_a_row_a_table_and_the_largest_change():
    def cell(form, default, ten):
        return {"dataset": "d", "n_rows": 1200, "form": form, "default": default, "ten": ten}

    text = tables.repetitions([cell("plain", [4, 0.41], [10, 0.402]), cell("stages", [2, 0.3], [10, 0.315])])
    assert "| d | 1,200 | 4 | 0.410 | 0.402 | 2 | 0.300 | 0.315 |" in text
    assert text.endswith("change the distance by at most 0.015.")


@pytest.mark.parametrize("part", PAGES)
def test_a_part_of_another_page_is_that_of_the_results(part):
    cells = json.loads((FOLDER / f"{part}.json").read_text(encoding="utf-8"))["cells"]
    assert f"<!-- {part} -->\n{PARTS[part][1](cells)}\n<!-- end -->" in (DOCS / PAGES[part]).read_text(encoding="utf-8")


def test_a_part_is_put_between_its_marks_and_nowhere_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two -->\n<!-- end -->\nc\n")
    put(page, "one", "new")
    put(page, "two", "more")
    assert page.read_text() == "a\n<!-- one -->\nnew\n<!-- end -->\nb\n<!-- two -->\nmore\n<!-- end -->\nc\n"
    with pytest.raises(SystemExit, match="no place for three"):
        put(page, "three", "x")
