"""A model, and rows if there are some, in; what the sections of the page show out, as plain data.

How good the model is and what gives reason to doubt it; the effect of each feature; what each rule obeys, and how
many rows rules cover, also as HTML. Numbers have nine digits, which is more than a page shows.
"""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pysirus._data.column import DataError
from pysirus._data.frame import as_frame
from pysirus._data.read import check_name
from pysirus._data.table import Table
from pysirus._families.row_metrics import Metrics
from pysirus._model.agreement import doubts
from pysirus._model.held_out import METRICS, forward_rows, metric_texts
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._runtime.sums import times
from pysirus._terms.allowed import WORDS, side_of
from pysirus._terms.words import LINE
from pysirus._text.format import format_date, true_minus
from pysirus._text.message import Parameter, say
from pysirus._use.effect import Effect, effect, level_counts, level_groups, spread
from pysirus._use.evidence import told_of
from pysirus._use.explain import feature_importance
from pysirus._use.groups import coverage, group_metrics
from pysirus._use.intervals import sure_text
from pysirus._use.nearest_change import nearest_change, read_wish
from pysirus._use.score import Rows, score_known
from pysirus.report._card_evidence import about_positive

MINUS = re.compile(r"(?<=[:,] )-(?=\d)")  # the hyphens of what rules contribute
MOST_PAIRED = 40  # rules whose pairs are shown
MOST_CHANGES = 20  # rows whose nearest change is shown, where none are named


def short(values: Any) -> Any:
    """Numbers to nine digits, in lists as deep as the array."""
    if isinstance(values, (tuple, list, np.ndarray)):
        return [short(v) for v in values]
    return None if values is None or not np.isfinite(values) else float(f"{float(values):.9g}")


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
            [found.number(i), rule.folded(), float(share), float(alone)]
            for i, (rule, share, alone) in enumerate(zip(found.rules, found.share, found.alone))
        ],
        "together": [short(row[:i]) for i, row in enumerate(found.together)],
        "opposed": [row[:i].tolist() for i, row in enumerate(found.opposed)],
    }


def groups_data(model: Model, X: Any, y: Any, weights: Any, by: Any) -> dict[str, Any]:
    """How groups of rows are treated."""
    if X is None or y is None:
        raise ParameterError(f"{Parameter('by')} compares groups of rows: the rows and their targets are needed too.")
    found = group_metrics(model, X, y, weights, by)
    header, rows = found.table()
    return {"by": found.by, "meaning": found.meaning, "header": header, "rows": rows, "notes": found.notes()}


def changes_data(model: Model, X: Any, table: Table | None, labels: Sequence[str], asked: Any) -> dict[str, Any]:
    """The nearest change of some rows: those that are named by number, else the first that are decided otherwise."""
    if table is None:
        raise ParameterError(f"{Parameter('change')} is about rows: they are needed too.")
    asked = dict(asked) if isinstance(asked, Mapping) else {"to": asked}
    rows = asked.pop("rows", None)
    wrong = [k for k in rows or () if not isinstance(k, (int, np.integer)) or not 0 <= k < table.n_rows]
    if wrong:
        raise ParameterError(
            f"{Parameter('change')} names the row {wrong[0]!r}; there are rows 0 to {table.n_rows - 1}."
        )
    wish = read_wish(model, asked.get("to"))
    order = range(table.n_rows) if rows is None else rows
    chosen = [k for k in order if rows is not None or not wish.holds(model, table.at([k]))]
    chosen = chosen[:MOST_CHANGES] if rows is None else chosen
    frame, told = as_frame(X), {}
    for k in chosen:
        row = np.asarray(X)[k : k + 1] if frame is None else frame[k : k + 1].to_native()
        found = nearest_change(model, row, **asked)
        told[str(k)] = None if found is None else found.lines()
    fixed = asked.get("fixed") or ()
    limits = [f"{', '.join([fixed] if isinstance(fixed, str) else fixed)} fixed"] if fixed else []
    limits += [f"{name} only {way}" for name, way in (asked.get("directions") or {}).items()]
    return {"to": wish.text, "limits": "; ".join(limits), "rows": told, "names": {k: labels[int(k)] for k in told}}


def checks_html(data: dict[str, Any]) -> str:
    """Sections of the page without scripts, about the chosen list."""
    writers: dict[str, Callable[[Any], str]] = {
        "evidence": _evidence_html,
        "obeys": _obeys_html,
        "coverage": _coverage_html,
        "groups": _groups_html,
        "changes": _changes_html,
        "intervals": _intervals_html,
    }
    return "".join(write(data.get(name)) for name, write in writers.items())


def _groups_html(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    notes = "".join(f"<p>{html.escape(MINUS.sub('−', line))}</p>" for line in found["notes"])
    header = [name.replace(" - ", " − ") for name in found["header"]]
    return (
        '<section id="groups" aria-labelledby="groups-title">'
        f'<h2 id="groups-title">Groups: {html.escape(found["by"])}</h2>'
        f'<p class="note">{html.escape(found["meaning"])}. Differences are those of fairlearn.</p>'
        f'<div class="wide">{_table(header, found["rows"])}</div>{notes}</section>'
    )


def _changes_html(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    rows = []
    for k, changes in found["rows"].items():
        name = found["names"][k]
        none = "no change of the columns that may change" if changes is None else "nothing: it is so already"
        rows += [[name if i == 0 else "", *line] for i, line in enumerate(changes or [[none, "", ""]])]
    limits = f" Limits: {html.escape(found['limits'])}." if found["limits"] else ""
    return (
        '<section id="changes" aria-labelledby="changes-title">'
        f'<h2 id="changes-title">What would make it {html.escape(found["to"])}</h2>'
        '<p class="note">The smallest change of each row for which the model would have decided so: fewest columns, '
        f"then the nearest in quantiles of the training rows.{limits} It says what the model does, not that the change "
        f"would help.</p>{_table(['Row', 'Column', 'Now', 'Needed'], rows)}</section>"
    )


def interval_data(estimator: Any, X: Any, y: Any, coverage: float, most: int) -> dict[str, Any]:
    """The intervals or sets of rows in words, and with targets how many contain them."""
    texts = [sure_text(own) for own in estimator._sure(X, coverage)[:most]]
    found = None if y is None else estimator._coverage(X, y, coverage)
    told: dict[str, Any] = {"texts": texts, "wanted": coverage, "head": None, "groups": []}
    if found is not None:
        short = {own[0] for own in found.short}
        told["head"] = found.head
        told["groups"] = [
            [text, f"{n:,}", f"{100 * hits / n:.0f}%", "falls short" if text in short else ""]
            for text, n, hits in found.groups
        ]
    return told


def _intervals_html(found: dict[str, Any] | None) -> str:
    if found is None or found["head"] is None:
        return ""
    return (
        '<section id="intervals" aria-labelledby="intervals-title">'
        '<h2 id="intervals-title">How often intervals contain the target</h2>'
        f'<p class="note">Intervals or sets that should contain the target in {100 * found["wanted"]:g}% of new rows, '
        "counted on the rows of the table. If these are the training rows, the counts are too high.</p>"
        f"<p>{html.escape(found['head'])}</p>"
        f"{_table(['Rule', 'Rows', 'Covered', ''], found['groups'])}</section>"
    )


def evidence_data(model: Model, evidence: Any) -> list[dict[str, Any]]:
    """What other samples of the rows, or periods, say of the list and of each rule."""
    every = evidence if isinstance(evidence, (list, tuple)) else [evidence]
    return [told_of(own, model, LINE)._asdict() for own in every]


def _evidence_html(found: list[dict[str, Any]] | None) -> str:
    sections = []
    for k, own in enumerate(found or (), start=1):
        where = "in other samples" if own["how"] == "halves" else "over time"
        notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in own["notes"])
        forward = '<p class="note">Forward in time: each period, predicted by a list of all rows before it.</p>'
        tables = [f'<div class="wide">{_table(*grid)}</div>' for grid in own["others"]]
        sections.append(
            f'<section id="evidence-{k}" aria-labelledby="evidence-{k}-title">'
            f'<h2 id="evidence-{k}-title">Which rules return {where}?</h2>'
            f'<p class="note">{html.escape(own["head"])}.</p>'
            f'<div class="wide">{_table(*own["terms"])}</div>{notes}{forward.join(tables)}</section>'
        )
    return "".join(sections)


def _table(header: list[str], rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(true_minus(cell))}</td>' for cell in row)}</tr>" for row in rows)
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
        [str(number), text, f"{100 * share:.1f}%", f"{100 * alone:.1f}%"]
        for number, text, share, alone in found["rules"]
    ]
    none = f"{100 * found['uncovered']:.1f}% of the {found['n']:,} rows are covered by no rule"
    every = f"every one of the {found['n']:,} rows is covered by a rule"
    return (
        '<section id="coverage" aria-labelledby="coverage-title"><h2 id="coverage-title">Coverage and overlap</h2>'
        '<p class="note">How many of the rows of the table each rule covers, and in how many it is the only one; '
        f"{none if found['uncovered'] else every}.</p>"
        f"{_table(['', 'Rule', 'Applies to', 'Alone in'], rows)}{_overlap_html(found)}</section>"
    )


def _overlap_html(found: dict[str, Any]) -> str:
    """A heat map of the pairs of rules, as a table: the share of rows in which both apply."""
    names = [str(number) for number, *_ in found["rules"]]
    if not 2 <= len(names) <= MOST_PAIRED:
        return ""
    lines = []
    for i, (name, rule) in enumerate(zip(names, found["rules"])):
        cells = [
            f'<td class="{"opposed" if against and share else "joint"} share-{100 * share:.0f}" '
            f'title="{name} and {other}">{100 * share:.0f}</td>'
            for other, share, against in zip(names, found["together"][i], found["opposed"][i])
        ]
        own = f'<td class="own share-{100 * rule[2]:.0f}">{100 * rule[2]:.0f}</td>'
        blank = "<td></td>" * (len(names) - i - 1)
        lines.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}{own}{blank}</tr>')
    foot = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        '<h3>Pairs of rules</h3><p class="note">In how many percent of the rows both rules of a pair apply; on the '
        "diagonal the rule itself. An orange frame marks two rules that pull in opposite directions, which is normal "
        'in a sum of rules.</p><div class="wide"><table class="overlap"><thead><tr><td></td>'
        f"{foot}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def effects(model: Model, table: Table | None) -> list[dict[str, Any]]:
    """The effect of each feature that the model looks at, the most important first."""
    if table is None and not model.family.adds_up:
        return []  # a weighted mean has effects on a table only
    importance = feature_importance(model, backend="pyarrow").to_pydict()
    used = {model.features[index].name for index in model.columns_of(model.rules)}
    names = [name for name in importance["feature"] if name in used]
    share = dict(zip(importance["feature"], zip(importance["gap"], importance["frequency"])))
    return [
        {
            **_effect(model, effect(model, name, table, with_predictions=False), table),
            "gap": short(share[name][0]),
            "frequency": short(share[name][1]),
        }
        for name in names
    ]


def _effect(model: Model, found: Effect, table: Table | None) -> dict[str, Any]:
    """Steps between thresholds, or rows of levels: those that no rule tells apart share one."""
    (axis,) = found.axes
    shown: dict[str, Any] = {"feature": axis.feature, "numeric": axis.is_numeric, "hasMissing": axis.has_missing}
    if axis.is_numeric:
        if axis.column.is_date:
            shown["names"] = [format_date(edge) for edge in axis.edges]
        ends = {} if found.ends is None else {"ends": short(found.ends)}
        if (own := spread(model, axis, table)) is not None:
            ends |= {"range": short([own.low, own.high]), "deciles": short(own.deciles)}
            if axis.column.is_date:
                ends["rangeNames"] = [format_date(own.low), format_date(own.high)]
        values = short(found.values)
        return {**shown, **ends, "edges": short(axis.edges), "labels": list(axis.labels), "values": values}
    counts = None if table is None or axis.index in table.absent else level_counts(axis, table.columns[axis.index])
    groups = level_groups(axis, found.values, counts)
    if counts is not None and table is not None and table.n_rows:
        often = dict(zip(axis.labels, counts.tolist()))
        known = groups[: len(groups) - axis.has_missing]  # the last one stands for missing values
        shares = [sum(often[own] for own in group.levels) / table.n_rows for group in known]
        shown["shares"] = short([*shares, *([1 - sum(shares)] if axis.has_missing else [])])
    return {
        **shown,
        "labels": [group.label for group in groups],
        "members": [list(group.levels) if group.is_folded else [] for group in groups],
        "values": short(np.reshape([group.value for group in groups], (len(groups), *model.family.shape))),
    }


def quality(model: Model, X: Any, table: Table | None, y: Any, weights: Any = None, time: Any = None) -> dict[str, Any]:
    """What is known of the quality of a model."""
    return {
        "later": _later(model, X, y, weights, time),
        "heldOut": _held_out(model),
        "inSample": None if model.out_of_fold is not None else _in_sample(model, X, table, y, weights),
        "doubts": list(map(say, doubts(model))),
    }


def _later(model: Model, X: Any, y: Any, weights: Any, time: Any) -> str | None:
    """What rows say that are later than the training rows, where times are given or X has the model's column."""
    frame = as_frame(X) if X is not None and (time is None or isinstance(time, str)) else None
    if time is None and y is not None and frame is not None and model.roles is not None:
        time = model.roles.time if model.roles.time in frame.columns else None
    if time is None:
        return None
    if X is None or y is None:
        raise ParameterError(f"{Parameter('time')} is of rows and their targets, which are needed too.")
    if isinstance(time, str):
        names = [] if frame is None else frame.columns
        check_name(names, time, "time")
        time = frame[time] if frame is not None else None
    time = np.asarray(time) if isinstance(time, (list, tuple)) else time
    return score_known(model, Rows(X, y, weights, time=time)).out_of_time


def _metrics(metrics: Metrics) -> list[list[str]]:
    return [[METRICS[name], *metric_texts(name, *pair)] for name, pair in metrics.items()]


def _held_out(model: Model) -> dict[str, Any] | None:
    """What held-out rows say of the model, if it was cross-validated."""
    found = model.out_of_fold
    if found is None:
        return None
    bins = [
        {"class": own.code, "probability": short(own.probability), "members": short(own.members)}
        | {"others": short(own.others)}
        for own in (about_positive(own, model) for own in found.bins)
    ]
    return {
        "how": found.how,
        "nRules": len(model.rules),
        "metrics": _metrics(found.metrics),
        "bins": bins,
        "confusion": None if found.confusion is None else short(found.confusion),
        "forward": forward_rows(found.forward) if found.forward else None,
    }


def _in_sample(model: Model, X: Any, table: Table | None, y: Any, weights: Any) -> dict[str, Any] | None:
    """Metrics of rows that the model may have seen; ``rows`` is how many a table has, None for those of training."""
    own = training_metrics(model)
    if own is not None:
        return {"rows": None, "metrics": _metrics(own), "explained": _explained(own)}
    if table is None or y is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows without a target have no part in it
            found = score_known(model, Rows(X, y, weights))
    except DataError:  # a class that training did not know, say: shown beside predictions, but not judged
        return None
    return {"rows": found.n_rows, "metrics": _metrics(found.metrics), "explained": _explained(found.metrics)}


def _explained(metrics: Metrics) -> dict[str, Any] | None:
    """The share of the variance or deviance that is explained, and what that is called; None for others."""
    for name, what in (("r2", "variance"), ("d2", "deviance")):
        if name in metrics:
            return {"what": what, "name": METRICS[name], "share": short(metrics[name][0])}
    return None


def training_metrics(model: Model) -> Metrics | None:
    """R² and errors of the training rows, for numbers, by the sums that the model keeps; None where it keeps none.

    With ``z_r`` one where rule r applies, a prediction is ``c + sum_r b_r z_r``, so its squared error over the training
    rows needs no more than the sums of y, of y squared, of y where a rule holds, and of the rows where two rules hold.
    """
    moments = model.moments
    if moments is None or not model.family.is_least_squares or model.terms:
        return None
    rules = list(model.selected)
    if not model.family.adds_up or len(rules) > moments.n_rules:
        return None
    own = moments.take(range(len(rules)))  # of a tuned model they are those of the longest list
    inside, outside = (np.array([rule.added[side][0] for rule in rules]) for side in (0, 1))
    start = float(np.asarray(model.intercept)) + float(outside.sum()) - own.centre
    jumps = inside - outside
    total, y_sum = float(own.fold_weight.sum()), float(own.y_sum.sum())
    pairs, rule_y = own.pair_weight.sum(axis=0), own.rule_y_sum.sum(axis=0)[:, 0]
    squares = float(own.y_square.sum())
    left = squares - 2 * (start * y_sum + float(times(jumps, rule_y)))
    left += start * start * total + 2 * start * float(times(jumps, own.term_weight.sum(axis=0)))
    left += float(times(times(pairs, jumps), jumps))
    spread = squares - y_sum * y_sum / total  # a product: a power raises an error where it overflows
    if not spread > 0 or not np.isfinite(left):
        return None
    share = max(0.0, left / spread)
    return {"r2": (1 - share, None), "rmse": (float(np.sqrt(share * spread / total)), None)}
