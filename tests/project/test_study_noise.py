"""The study of noise: what it says of a few tables, and the list in the repository."""

import pytest
from studies.noise.__main__ import LAWS, RESULTS, look, main, make_table, read_outcomes, summary


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
