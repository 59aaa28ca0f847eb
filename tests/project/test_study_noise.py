"""The study of noise: what it says of a few tables, and the list in the repository."""

import pytest
from studies.noise.__main__ import LAWS, PAGE, RESULTS, Outcome, look, main, make_table, read_outcomes, summary, table


def test_tables_have_the_signal_that_they_are_said_to_have():
    for law in LAWS:
        X, y = make_table(law, 0)
        assert X.shape == (300, 10) and y.var() == pytest.approx(1, abs=0.3)


def test_noise_and_signal_are_told_apart():
    noise, step = (look(law, 0, n_trees=40, n_repeats=1) for law in ("noise", "step"))
    assert noise.cv_signal < 2 < step.cv_signal and noise.tuned < 0 < step.tuned


def test_the_list_in_the_repository_keeps_its_promise(tmp_path, capsys):
    outcomes = read_outcomes(RESULTS)
    for law in LAWS:
        own = [o for o in outcomes if o.law == law]
        assert len(own) == 20
        for share, signal in (("tuned", "tuned_signal"), ("cv", "cv_signal")):
            nothing = sum(getattr(o, share) <= 0 or getattr(o, signal) <= 2 for o in own)
            assert nothing >= 19 if law == "noise" else nothing <= 1
    assert "noise: 20 tables; nothing learned, says tuning, of 20" in summary(outcomes)
    main(["--tables", "0", "--results", str(tmp_path / "r.csv")])
    assert "step: 0 tables" in capsys.readouterr().out


def test_the_table_of_the_page_is_that_of_the_results():
    text = table(read_outcomes(RESULTS))
    assert f"<!-- noise -->\n{text}\n<!-- end -->" in PAGE.read_text(encoding="utf-8")


def test_the_table_worked_by_hand():
    # signals of noise: -1, 1 and 1, 3; a gain with a signal of at most two standard errors is nothing learned
    noise = [Outcome("noise", 0, 0.1, -1.0, -0.1, 1.0), Outcome("noise", 1, 0.1, 1.0, 0.1, 3.0)]
    others = [Outcome(law, k, 0.2, 5.0, 0.2, 1.9) for law in list(LAWS)[1:] for k in (0, 1)]
    text = table([*noise, *others])
    assert "| pure noise | 2 | 2 | 1 |" in text and "| R² 0.2, a step in one column | 2 | 0 | 2 |" in text
    assert "a standard deviation of 1.4 (tuned) and 1.4 (`fit --cv`)" in text and "as high as 78% (95%" in text
