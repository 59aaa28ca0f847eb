"""Results in, tables out, ours beside the published value with differences marked: Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paper import published
from paper.compare import corrected_error
from paper.methods import Result

Results = Mapping[tuple[str, str], Sequence[Result]]  # (dataset, method) -> one result a repetition
RIVAL_QUANTITIES = ("size", "stability", "error_on_quantiles", "size_free", "error")
DIGITS = {"size": 0, "stability": 2, "error": 2}


@dataclass(frozen=True)
class Cell:
    """One number and the published one."""

    dataset: str
    method: str
    ours: float
    published: float | None  # None for what goes beyond the paper
    tolerance: float
    spread: float | None = None  # standard error of ours, where there are folds to take it from

    @property
    def difference(self) -> float:
        """Ours minus the published value."""
        return float("nan") if self.published is None else self.ours - self.published

    @property
    def within(self) -> bool:
        """Whether it is as near as we ask, to the digits that the tables show."""
        return self.published is None or abs(self.difference) <= self.tolerance + 1e-9


@dataclass(frozen=True)
class Table:
    """One quantity, datasets down and methods across."""

    quantity: str
    title: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]

    def column(self, method: str) -> list[Cell]:
        """The cells of a method."""
        return [self.cells[d, method] for d in self.datasets if (d, method) in self.cells]

    def count(self, method: str) -> str:
        """How many cells of a column are within tolerance."""
        column = [cell for cell in self.column(method) if cell.published is not None]
        return "" if not column else f"{sum(cell.within for cell in column)} of {len(column)}"

    def _text(self, cell: Cell | None, mark: str) -> str:
        if cell is None:
            return ""
        digits = DIGITS[self.quantity]
        ours = f"{cell.ours:.{max(digits, 1)}f}"
        ours = ours if cell.within else mark.format(ours)
        ours += "" if cell.spread is None else f" ± {cell.spread:.{max(digits, 1)}f}"
        return ours if cell.published is None else f"{ours} ({cell.published:.{digits}f})"

    def _rows(self, mark: str) -> list[list[str]]:
        rows = [
            [dataset.capitalize(), *(self._text(self.cells.get((dataset, m)), mark) for m in self.methods)]
            for dataset in self.datasets
        ]
        return [*rows, ["within", *(self.count(m) for m in self.methods)]]

    def to_markdown(self) -> str:
        """Ours (published); bold where the difference is beyond tolerance."""
        head = ["", *(published.NAMES[m] for m in self.methods)]
        asked = {cell.tolerance for cell in self.cells.values() if cell.published is not None}
        limits = ", ".join(f"{tolerance:g}" for tolerance in sorted(asked))
        lines = [
            f"| {' | '.join(row)} |" for row in [head, ["---"] + ["---:"] * len(self.methods), *self._rows("**{}**")]
        ]
        return f"**{self.title}**: ours (published), bold where they differ by more than {limits}\n\n" + "\n".join(
            lines
        )

    def to_latex(self) -> str:
        """The same as a tabular."""
        head = " & ".join(["", *(published.NAMES[m] for m in self.methods)]) + r" \\"
        body = [" & ".join(row) + r" \\" for row in self._rows(r"\textbf{{{}}}")]
        body.insert(-1, r"\midrule")
        columns = "l" + "r" * len(self.methods)
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                head,
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )


def to_csv(tables: Sequence[Table]) -> str:
    """All tables in long form, one line a cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = ["quantity", "dataset", "method", "ours", "standard_error"]
    writer.writerow([*names, "published", "difference", "tolerance", "within"])
    for table in tables:
        for cell in (table.cells[d, m] for m in table.methods for d in table.datasets if (d, m) in table.cells):
            row = [table.quantity, cell.dataset, cell.method, f"{cell.ours:.4g}"]
            row.append("" if cell.spread is None else f"{cell.spread:.2g}")
            if cell.published is not None:
                numbers = (cell.published, cell.difference, cell.tolerance)
                row += [*(f"{v:.4g}" for v in numbers), "yes" if cell.within else "no"]
            writer.writerow(row + [""] * (9 - len(row)))
    return out.getvalue()


def make_tables(results: Results, datasets: Sequence[str]) -> list[Table]:
    """The paper's tables 2 and 3 and the supplementary ones, from means over repetitions."""
    wanted = (
        ("size", "Model size (Table 2a)", published.SIZE),
        ("stability", "Stability between folds (Table 2b)", published.STABILITY),
        ("error", "Unexplained variance (Table 3, and the supplementary tables)", published.ERROR),
    )
    tables = []
    for quantity, title, values in wanted:
        cells = {}
        for method, column in values.items():
            for dataset, value in zip(published.DATASETS, column):
                found = [r for r in results.get((dataset, method), ()) if quantity in r]
                if found and dataset in datasets:
                    tolerance = published.TOLERANCE[quantity][method]
                    mean = float(np.mean([r[quantity] for r in found]))
                    folds = [e for r in found for e in r.get("errors", ())] if quantity == "error" else []
                    cells[dataset, method] = Cell(dataset, method, mean, value, tolerance, corrected_error(folds))
        methods = tuple(m for m in values if any((d, m) in cells for d in datasets))
        tables.append(Table(quantity, title, methods, tuple(datasets), cells))
    return tables


def rivals(results: Results, datasets: Sequence[str]) -> str:
    """RuleFit and Node harvest, ours and the published ones: size, stability and error of one model beside "
    "each other."""
    lines = [
        "| | size | stability between folds | error | size, free cuts | error, free cuts "
        "| published: size | stability between folds | error |",
        "|---|" + "---:|" * 8,
    ]
    for method in ("rulefit", "node-harvest"):
        lines.append(f"| **{published.NAMES[method]}** |" + " |" * 8)
        for i, dataset in enumerate(published.DATASETS):
            found = results.get((dataset, method), ())
            if not found or dataset not in datasets:
                continue
            own = {name: float(np.mean([r[name] for r in found])) for name in RIVAL_QUANTITIES}
            printed = published.SIZE[method][i], published.STABILITY[method][i], published.ERROR[method][i]
            lines.append(
                f"| {dataset.capitalize()} | {own['size']:.1f} | {own['stability']:.2f} | "
                f"{own['error_on_quantiles']:.2f} "
                f"| {own['size_free']:.1f} | {own['error']:.2f} | {printed[0]} | {printed[1]:.2f} | {printed[2]:.2f} |"
            )
    return "\n".join(lines)


def conclusion(tables: Sequence[Table]) -> str:
    """The averages that the paper's conclusion is about, in our numbers and in the published ones."""
    size, stability, _ = tables
    wanted = ("sirus", "rulefit", "node-harvest")
    if any(not table.column(method) for table in (size, stability) for method in wanted):
        return "The comparison of SIRUS with RuleFit and Node harvest needs results of all three."
    parts = []
    for method in wanted:
        ours = [float(np.mean([cell.ours for cell in table.column(method)])) for table in (size, stability)]
        printed = [
            float(np.mean([cell.published or 0 for cell in table.column(method)])) for table in (size, stability)
        ]
        parts.append(
            f"{published.NAMES[method]} has {ours[0]:.1f} rules at a stability of {ours[1]:.2f} (published: "
            f"{printed[0]:.1f}, {printed[1]:.2f})"
        )
    return (
        f"On average over the datasets, {'; '.join(parts)}. Stability is measured between folds that share 89% of "
        "their training rows. Size and stability of a method come from the same models, with cuts at deciles."
    )
