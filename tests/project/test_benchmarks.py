"""The benchmarks run; what they measure is for `make bench` to say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _find_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_problems_have_no_missing_values_and_repeat() -> None:
    from benchmarks.problems import made_up, shipped

    assert np.isfinite(shipped("mpg").X).all()
    np.testing.assert_array_equal(made_up(100, 4).X, made_up(100, 4).X)
    assert made_up(100, 4).X.dtype == np.float32


def test_best_of_keeps_the_least_and_takes_turns() -> None:
    from benchmarks.clock import best_of

    calls: list[str] = []
    best = best_of({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b", "a", "b"] and set(best) == {"a", "b"} and max(best.values()) < 1


def test_each_rival_runs() -> None:
    from benchmarks.problems import made_up
    from benchmarks.rivals import ours, scikit_learn

    problem = made_up(300, 5)
    assert ours.forest(problem, 50).n_trees == 50
    assert len(ours.fit(problem, 50).rules_) > 0
    assert len(scikit_learn.fit(problem, 2).estimators_) == 2


def test_rivals_are_found_or_named_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import rivals
    from benchmarks.problems import made_up

    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # as if it were not installed
    found, absent = rivals.find_rivals()
    assert {*found, *absent} == set(rivals.OTHERS) and "tree" in found
    assert absent["r_sirus"] == "R sirus, 10,000 trees: skipped, Rscript is not installed"
    assert "LightGBM" in absent["lightgbm_boosting"] and "skipped" in absent["lightgbm_boosting"]
    found["tree"].fit(made_up(50, 3))
    assert all(rivals.version_of(adapter)[0].isdigit() for adapter in found.values())


def test_growth_fits_the_exponent_and_a_ratio_knows_its_limit() -> None:
    from benchmarks.everyday import Ratio
    from benchmarks.growth import Growth

    assert Growth("rows", [1, 10, 100], [3.0, 300.0, 30_000.0]).exponent == pytest.approx(2)
    assert Ratio("a / b", 3.0, 2.0, 1.5).passes and not Ratio("a / b", 3.1, 2.0, 1.5).passes


def test_the_page_has_a_row_for_each_job(tmp_path: Path) -> None:
    from benchmarks import report
    from benchmarks.growth import Growth
    from benchmarks.roofline import Roofline

    seconds = {"pysirus": dict.fromkeys(report.PROBLEMS, 0.5)}
    seconds["scikit-learn, forest of 500 trees"] = dict.fromkeys(report.PROBLEMS, 2.0)
    assert "| pysirus | 500.0 ms (0.250) | 500.0 ms (0.250) |" in report.rivals_table(seconds)
    growth = [Growth("rows", [1, 10], [1.0, 10.0])]
    assert report.growth_table(growth).endswith("| rows | 1, 10 | 1000.0, 10000.0 | 1.00 |")
    assert "| 2.0 (4.0) |" in report.roofline_table([Roofline("a", 2e9, 1e9, 1.0, 4e9, 8e9)])
    report.draw_chart(seconds, growth, tmp_path / "new" / "chart.png")
    assert (tmp_path / "new" / "chart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is asked of a POSIX system")
def test_memory_is_measured_in_its_own_process() -> None:
    from benchmarks.clock import in_new_process

    found = json.loads(in_new_process("benchmarks.memory", 20_000, 20, 16))
    assert found["array"] == pytest.approx(20_000 * 20 * 4 / 2**20)
    assert found["after"] >= found["before"] > found["array"]


def test_page_about_scale_shows_the_figures_of_the_file() -> None:
    from benchmarks import workers

    page = workers.PAGE.read_text(encoding="utf-8")
    assert {found[1] for found in workers.PART.findall(page)} == set(workers.PARTS)
    assert workers.with_figures(page) == page, "python -m benchmarks.workers writes it again"


def test_costs_are_found_again_from_points_of_a_model() -> None:
    from benchmarks.workers import COLUMNS, JOBS, Cluster, Cost, fit_cost, simulate

    true = Cost(2e-7, 4e-9, 1.5)
    sizes = [(10**5, 100), (10**5, 800), (10**6, 100), (10**6, 400)]
    points = [{"job": "fit", "rows": n, "trees": t, "processor": true.seconds(n, t)} for n, t in sizes]
    found = fit_cost(points, "fit")
    assert np.allclose([found.value, found.tree, found.fixed], [true.value, true.tree, true.fixed], rtol=1e-6)
    even = Cluster(4, task=0.0, latency=0.0, bandwidth=np.inf, uneven=0.0, slow=0.0, lost=0.0)
    work = 10**9 * (COLUMNS * true.value + 64 * true.tree)
    for job in JOBS.values():
        assert simulate(job, true, 10**9, 64, even, 0) == pytest.approx(work / 4, rel=0.01)  # no more
        slower = simulate(job, true, 10**9, 64, Cluster(4, slow=1.0, slowness=3.0), 0)
        assert slower > 2.9 * work / 4


def test_what_stands_beside_is_measured_in_a_process_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import beside

    X, y = beside.made_up(200)
    assert X.shape == (200, 20) and 0 < y.mean() < 1
    found = beside.run("nothing", beside.measured, str)
    assert found.said == "" and 0 <= found.seconds < 60 and found.peak > 1e6
    assert capsys.readouterr().out.startswith("nothing ")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed by Linux")
def test_processor_time_counts_processes_that_are_left_running() -> None:
    from benchmarks import beside

    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None and worker.stdin is not None
        worker.stdout.readline()
        assert beside._living(os.getpid()) >= 0.25
        worker.stdin.close()


def test_page_shows_the_figures_of_cost(tmp_path: Path) -> None:
    from benchmarks import cost

    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    machine, points = cost.read()
    assert cost.PART.search(page)[0].split("-->\n", 1)[1] == cost.section(machine, points) + "<!-- end -->"
    assert cost.exponent({10: 1.0, 100: 10.0, 1000: 1000.0, 10_000: None}) == pytest.approx(2)
    cost.draw(points, tmp_path / "cost.png")
    assert (tmp_path / "cost.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["sirus", "drawn"])
def test_cost_is_measured(name: str) -> None:
    from benchmarks import cost

    assert cost.measure_here(name, 600, 4, 20) > 0
