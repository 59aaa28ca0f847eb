"""A model in, what a signer checks out, as data and as HTML: what each rule obeys, and how rules share rows out."""

from __future__ import annotations

import html
from typing import Any

from pysirus._constraints.constraints import WORDS, side_of
from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._use.coverage import SHOWN_PAIRS, coverage


def obeys(model: Model) -> dict[str, Any] | None:
    """What the model promises, and for each rule of the list what of it can be read off its line."""
    if model.constraints is None:
        return None
    constraints, rows = model.constraints, []
    for rule in model.rules:
        parts = []
        for condition in rule.conditions:
            wanted = constraints.directions.get(condition.index)
            if wanted is None:
                continue
            larger = "at and above the cut" if side_of(condition) > 0 else "below the cut"
            gap = constraints.gap(rule)
            word = "larger" if gap > 0 else "smaller" if gap < 0 else "equal"
            parts.append(f"{WORDS[wanted]} in {condition.feature}: its output is {word} {larger}")
        names = [condition.feature for condition in rule.conditions]
        if constraints.together.is_limited and len(names) > 1:
            parts.append(f"{', '.join(names[:-1])} and {names[-1]} may stand together")
        parts += ["given, with a fixed effect"] if rule.effect is not None else []
        rows.append([rule.folded(), "; ".join(parts) or "no constraint concerns it"])
    return {"text": constraints.text([feature.name for feature in model.features]), "rules": rows}


def coverage_data(model: Model, table: Table) -> dict[str, Any]:
    """How the rules share rows out, for the report."""
    found = coverage(model, table)
    return {
        "n": table.n_rows,
        "uncovered": found.uncovered,
        "rules": [
            [rule.folded(), float(share), float(alone)]
            for rule, share, alone in zip(found.rules, found.share, found.alone)
        ],
        "together": [list(pair) for pair in found.pairs()[:SHOWN_PAIRS]],
        "contradictions": [list(pair) for pair in found.contradictions[:SHOWN_PAIRS]],
    }


def checks_html(data: dict[str, Any]) -> str:
    """Both as sections of the page, without scripts; about the chosen list."""
    return _obeys_html(data.get("obeys")) + _coverage_html(data.get("coverage"))


def _table(header: list[str], rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="checks"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _obeys_html(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    rows = [[str(i), *row] for i, row in enumerate(found["rules"], start=1)]
    return (
        '<section id="obeys" aria-labelledby="obeys-title"><h2 id="obeys-title">What every rule obeys</h2>'
        f'<p class="note">Constraints: {html.escape(found["text"])}. Weights are not negative, so the list obeys if '
        f"each line does.</p>{_table(['', 'Rule', 'How it can be seen'], rows)}</section>"
    )


def _coverage_html(found: dict[str, Any] | None) -> str:
    if found is None or not found["rules"]:
        return ""
    rows = [
        [str(i), text, f"{100 * share:.1f}%", f"{100 * alone:.1f}%"]
        for i, (text, share, alone) in enumerate(found["rules"], start=1)
    ]
    lines = [f"Rows that no rule covers: {100 * found['uncovered']:.1f}% of {found['n']:,}."]
    for key, title in (("together", "Fire together"), ("contradictions", "Contradict each other")):
        pairs = [f"{i + 1} and {j + 1} ({100 * share:.1f}%)" for i, j, share in found[key]]
        lines.append(f"{title}: {', '.join(pairs) or 'none'}.")
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    return (
        '<section id="coverage" aria-labelledby="coverage-title"><h2 id="coverage-title">Coverage and overlap</h2>'
        '<p class="note">How the rules of the chosen list share the rows of the table out. Two rules contradict '
        "each other where both hold and pull in different directions.</p>"
        f"{_table(['', 'Rule', 'Holds in', 'Alone in'], rows)}{notes}</section>"
    )
