"""A model in, the paper's Table 1 on standard output: mean and intercept, then frequency, rule, weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pysirus._data.read import list_names
from pysirus._data.table import Feature
from pysirus._data.written import WEEKDAYS
from pysirus._families.links import LABELS
from pysirus._model.agreement import doubts
from pysirus._model.held_out import metrics_line
from pysirus._model.model import Model
from pysirus._model.tuning import Tuning
from pysirus._runtime.console import tell
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.term import columns_of
from pysirus._terms.words import reading_order
from pysirus._text.format import apart, format_percent, one_line
from pysirus._use.edit import trail_lines
from pysirus.cli._options import Manner
from pysirus.cli._streams import as_typed, print_json, print_prose, print_text, printing
from pysirus.estimators.rule_model import RuleModel

WIDTH = 84  # characters of the conditions of a rule
LEAST = 20  # characters that a rule has on a narrow terminal ...
SPARED = ("frequency", "returned", "rows")  # ... which is not shown these, in this order
GAP = 3  # between columns


def model_of(estimator: Any) -> RuleModel:
    """The rules and weights behind what ``load`` gave."""
    return estimator if isinstance(estimator, RuleModel) else estimator.model_


def _rule_text(rule: FittedTerm, shown: RuleSet, full: bool) -> Text:
    if not rule.conditions:
        return Text(one_line(shown.rule_text(rule, named=False, width=None if full else WIDTH)))
    asks = one_line(rule.text if full else rule.folded(WIDTH))
    if rule.effect is not None:
        return Text(asks)
    text = Text.assemble(("if ", "bold"), asks)
    if rule.inside is not None and rule.outside is not None:
        inside, outside = map(one_line, shown.output_texts(rule, named=False, longest=None if full else LABELS[0]))
        text.append_text(Text.assemble((" then ", "bold"), inside, (" else ", "bold"), outside))
    return text


def _rule_table(model: Model, full: bool, width: int) -> Table:
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    shown = model.rules
    cells: dict[str, list[Any]] = _that_fit(shown.cells(), width)
    cells["rule"] = [_rule_text(rule, shown, full) for rule in shown]
    for name in cells:
        if name == "rule":
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in zip(*cells.values()):
        table.add_row(*row)
    return table


def _that_fit(cells: Mapping[str, list[str]], width: int) -> dict[str, list[Any]]:
    """The columns beside the rules, without some of them where a narrow terminal would leave a rule no room."""
    kept = dict(cells)
    for name in SPARED:
        if sum(GAP + max(map(len, [other, *own])) for other, own in kept.items() if other != "rule") + LEAST <= width:
            break
        kept.pop(name, None)
    return kept


def print_model(model: Model, *, full: bool = False) -> None:
    """Print the rules: wrapped and in bold for a terminal, one line per rule for a pipe; folded unless ``full``."""
    console = Console(highlight=False)
    if not console.is_terminal or not len(model.rules):
        print_text(model.text(full=full))
        return
    with printing():
        console.print(str(model).split("\n\n", 1)[0], style="bold", markup=False)
        console.print()
        console.print(_rule_table(model, full, console.width))
        for note in model.rules.notes:
            console.print(f"\n{note}", markup=False)
        if model.terms:
            console.print("\nlinear terms", style="bold")
            console.print("\n".join(map(str, model.terms)), markup=False)


def print_start(model: Model) -> None:
    """Print from where predictions start, where the head of the list does not say it."""
    if line := model.family.start_line(model.intercept):
        print_prose(f"\n{line}")


def print_learned(estimator: Any, manner: Manner, *, weighed: bool) -> None:
    """Print what was learned, of a tuned list a verdict on it, and how it came about."""
    if manner.json:
        print_json(model_data(estimator.model_))
    if manner.json or manner.quiet or manner.alone:
        return
    print_model(estimator.model_)
    if estimator.model_.tuning is not None:
        print_prose(verdict(estimator.model_))
    print_doubts(estimator.model_)
    print_facts(estimator.model_)
    print_columns(estimator.model_, _missing_shares(estimator), weighed=weighed)


def _missing_shares(estimator: Any) -> dict[str, float]:
    """The share of missing values in each column that has some, as the rows weigh."""
    return {cuts.column.name: float(cuts.shares[-1]) for cuts in estimator._cuts.cuts if cuts.has_missing}


def print_doubts(model: Model) -> None:
    """Say what held-out rows give reason to doubt."""
    for sentence in doubts(model):
        print_prose(f"\n{as_typed(sentence)}")


def print_columns(model: Model, gaps: Mapping[str, float], *, weighed: bool) -> None:
    """Say on standard error what each column was taken for and what it lacks, in a line or two."""
    parts = []
    for kind in ("numeric", "categorical", "ordered"):
        columns = [_describe(feature) for feature in model.features if feature.kind == kind]
        if columns:
            shown = [*columns[:6], "..."] if len(columns) > 6 else columns
            parts.append(f"{len(columns)} {kind} ({(', ' if kind == 'numeric' else '; ').join(shown)})")
    missing = [f"{apart(name)} ({format_percent(share)})" for name, share in gaps.items() if share]
    idle = {name: f"{apart(name)} ({why.split(':')[0]})" for name, why in (model.facts.idle_columns or {}).items()}
    used = {model.features[index].name for index in columns_of(model.rules)}
    copies = [
        text for name, text in idle.items() if name in used
    ]  # of two columns with the same bins both are in rules
    useless = [text for name, text in idle.items() if name not in used]
    lines = [f"columns: {', '.join(parts)}"]
    lines += [f"missing values{' by weight' if weighed else ''}: {list_names(missing, 6)}"] if missing else []
    lines += [f"of no use: {list_names(useless, 6)}"] if useless else []
    lines += [f"copies: {list_names(copies, 6)}"] if copies else []
    tell("\n".join(map(one_line, lines)), style="dim")


def _describe(feature: Feature) -> str:
    """A column and the levels of its labels, which need not be told of weekdays."""
    if not feature.levels or set(feature.levels) <= set(WEEKDAYS):
        return apart(feature.name)
    return f"{apart(feature.name)} in {{{list_names(list(map(str, reading_order(feature.levels))), 6)}}}"


def count(n: int, noun: str) -> str:
    """How many of something: `1 rule`, `2 rules`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def print_facts(model: Model, *, full: bool = False) -> None:
    """Say on standard error how the model came about."""
    facts = model.facts
    parts = []
    if not full and model.rules.is_folded:
        parts.append("long rules are folded: pysirus show MODEL --full prints them whole")
    n_idle = len(model.selected) - len(model.rules)
    if n_idle:
        negligible = f" ({facts.n_pruned} negligible)" if facts.n_pruned else ""
        parts.append(f"{count(len(model.selected), 'rule')} selected, {n_idle} of them got weight 0{negligible}")
    if facts.n_rows is not None:
        parts.append(f"{facts.n_rows:,} rows, {count(len(model.features), 'feature')}")
    if facts.estimated_on is not None:
        parts.append(f"estimated on {facts.estimated_on:,} other rows than those the rules were found in")
    if facts.n_trees:
        parts.append(f"{facts.n_trees:,} trees")
    if (facts.n_stages or 1) > 1:
        parts.append(f"{facts.n_stages} stages")
    if facts.quantile_error:
        parts.append(f"cuts within {facts.quantile_error:.2%} of the true quantiles")
    if facts.seed is not None:
        parts.append(f"seed {facts.seed}")
    if model.family.decision_text:
        parts.append(f"decides for {model.family.decision_text}")
    edits = [f"edited: {one_line(line)}" for line in trail_lines(model)]
    tell("\n".join(["", "; ".join(parts), _out_of_fold(model), *edits]), style="dim")


def print_tuned(model: Model) -> None:
    """Say on standard error what tuning found out about lists of this size."""
    if model.tuning is None:
        return
    tell(verdict(model).lstrip("\n"), style="dim")


ELSEWHERE = " Samples that share no row agree less: pysirus evidence measures it."


def verdict(model: Model) -> str:
    """Error and stability of the chosen list, what stability means, what a rule more or less gives, and why."""
    tuning = model.tuned
    if not tuning.sizes:
        return "\nThere are no rules to choose from."
    chosen, name = tuning.sizes[len(model.selected) - 1], model.family.error_name
    lines = [
        "",
        f"held-out: {name} {chosen.error:.3f}, stability {chosen.stability:.2f} between folds "
        f"(p0 = {chosen.p0:.4f}, {tuning.numbers(chosen.n_rules).per_fold:.1f} rules per fold)",
        tuning.sentence(len(model.rules), chosen.stability) + (ELSEWHERE if tuning.shared is None else ""),
    ]
    n_stages = model.facts.n_stages or 1
    if n_stages > 1:
        lines[1] += f", {n_stages} stages"
    for size, what in _neighbours(tuning, len(model.selected), n_stages):
        other = tuning.sizes[size - 1]
        lines.append(f"{what}: {name} {other.error:.3f}, stability {other.stability:.2f} between folds")
    lines += tuning.reasons(len(model.selected), name)
    lines += [why] if (why := model.facts.why_this_kind) else []
    return "\n".join(lines)


def _neighbours(tuning: Tuning, chosen: int, n_stages: int) -> list[tuple[int, str]]:
    """The sizes beside the chosen one: with fewer rules and with more, or a whole stage of a staged list."""
    if n_stages == 1:
        return [(size, count(tuning.numbers(size).weighted, "rule")) for size in tuning.beside(chosen)]
    ends = {rule.stage: i for i, rule in enumerate(tuning.rules[: len(tuning.sizes)], start=1)}
    beside = ((n_stages - 1, "one stage fewer"), (n_stages + 1, "one stage more"))
    return [(ends[stage], what) for stage, what in beside if stage in ends]


def model_data(model: Model) -> dict[str, Any]:
    """What `show` prints, as plain data."""
    frame = model.rules.to_frame("pyarrow").to_pylist()
    rules = [
        {"number": i, **row, "given": rule.given} for i, (row, rule) in enumerate(zip(frame, model.rules), start=1)
    ]
    data: dict[str, Any] = {
        "target": model.target,
        "classes": list(model.classes or ()) or None,
        **({} if model.positive_class is None else {"positive_class": model.positive_class}),
        "mean": model.mean,
        "intercept": model.intercept,
        "link": model.link,
        "rules": rules,
        "terms": [str(term) for term in model.terms],
    }
    if model.constraints is not None:
        data["constraints"] = model.constraints.text([feature.name for feature in model.features])
    if model.tuning is not None:
        facts = {name: model.facts.get(name) for name in ("cv_error", "cv_stability", "p0")}
        data["tuning"] = {"error_name": model.family.error_name, **facts}
        if 0 < len(model.selected) <= len(model.tuning.sizes):
            selected, weighted, per_fold = model.tuning.numbers(len(model.selected))
            numbers = {"rules_selected": selected, "rules_with_weight": weighted, "rules_per_fold": per_fold}
            data["tuning"] |= numbers
    found = model.out_of_fold
    if found is not None:
        data["out_of_fold"] = {name: {"value": v, "standard_error": e} for name, (v, e) in found.metrics.items()}
    data["doubts"] = doubts(model)
    return {**data, "facts": {name: fact for name, fact in model.facts.items() if name != "out_of_fold"}}


def _out_of_fold(model: Model) -> str:
    """What cross-validation says of the model, in a line."""
    found = model.out_of_fold
    return "not cross-validated" if found is None else f"{found.how}: {metrics_line(found.metrics)}"
