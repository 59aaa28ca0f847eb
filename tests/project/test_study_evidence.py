"""The study of evidence: what its page says of its cells."""

from studies.evidence import tables


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
