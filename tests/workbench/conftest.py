"""Sessions whose lists are learned in this process, from small tables."""

import numpy as np
import pytest

from pysirus.workbench.plan import learn
from pysirus.workbench.session import Session

QUICK = {"n_trees": 60, "n_repeats": 1, "max_rules": 8}


class Here:
    """A worker that learns in this process: starting another takes longer than the work."""

    run = staticmethod(learn)

    def stop(self):
        pass


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    """A table of all kinds of columns and targets."""
    draw = np.random.default_rng(0)
    n = 240
    income, age, size = draw.integers(500, 5000, n), draw.integers(18, 80, n), draw.normal(size=n).round(3)
    job = draw.choice(["clerk", "cook", "none"], n)
    risk = 2.0 * (income < 1500) + 1.5 * (job == "none") + 0.3 * size
    status = np.where(risk + draw.normal(0, 0.5, n) > 1, "bad", "good")
    until, end = draw.exponential(np.exp(-risk)), draw.uniform(0, 2, n)
    counts = draw.poisson(np.exp(0.5 * risk))
    table = {"income": income, "age": age, "size": size, "job": job, "status": status, "amount": 1 + risk.round(2) ** 2}
    table |= {"claims": counts, "time": np.minimum(until, end).round(4) + 0.01, "event": (until <= end).astype(int)}
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values()))]
    path = tmp_path_factory.mktemp("workbench") / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def session(people, tmp_path):
    """A session with the table open."""
    own = Session(tmp_path, QUICK)
    own.worker = Here()
    own.open(people, "people.csv")
    return own


@pytest.fixture
def tuned(session):
    """One with a list of classes."""
    for name in ("amount", "claims", "time", "event"):
        session.column(name, "leave out")
    session.aim("classes", "status")
    session.tune()
    return session
