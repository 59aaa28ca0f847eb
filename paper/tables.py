"""Results in, tables out, ours beside the published value with differences marked: Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paper import published
from paper.methods import Result

Results = Mapping[tuple[str, str], Sequence[Result]]  # (dataset, method) -> one result a repetition
DIGITS = {"size": 0, "stability": 2, "error": 2}


@dataclass(frozen=True)
class Cell:
    """One number and the published one."""

    dataset: str
    method: str
    ours: float
    published: float | None  # None for what goes beyond the paper
    tolerance: float

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
        if cell.published is None:
            return ours
        return (ours if cell.within else mark.format(ours)) + f" ({cell.published:.{digits}f})"

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
    writer.writerow(["quantity", "dataset", "method", "ours", "published", "difference", "tolerance", "within"])
    for table in tables:
        for cell in (table.cells[d, m] for m in table.methods for d in table.datasets if (d, m) in table.cells):
            row = [table.quantity, cell.dataset, cell.method, f"{cell.ours:.4g}"]
            if cell.published is not None:
                numbers = (cell.published, cell.difference, cell.tolerance)
                row += [*(f"{v:.4g}" for v in numbers), "yes" if cell.within else "no"]
            writer.writerow(row + [""] * (8 - len(row)))
    return out.getvalue()


def make_tables(results: Results, datasets: Sequence[str]) -> list[Table]:
    """The paper's tables 2 and 3 and the supplementary ones, from means over repetitions."""
    wanted = (
        ("size", "Model size (Table 2a)", published.SIZE),
        ("stability", "Stability (Table 2b)", published.STABILITY),
        ("error", "Unexplained variance (Table 3, and the supplementary tables)", published.ERROR),
    )
    tables = []
    for quantity, title, values in wanted:
        cells = {}
        for method, column in values.items():
            for dataset, value in zip(published.DATASETS, column):
                found = [r[quantity] for r in results.get((dataset, method), ()) if quantity in r]
                if found and dataset in datasets:
                    tolerance = published.TOLERANCE[quantity][method]
                    cells[dataset, method] = Cell(dataset, method, float(np.mean(found)), value, tolerance)
        methods = tuple(m for m in values if any((d, m) in cells for d in datasets))
        tables.append(Table(quantity, title, methods, tuple(datasets), cells))
    return tables


def conclusion(tables: Sequence[Table]) -> str:
    """The paper's conclusion in our numbers: SIRUS against RuleFit, averaged over datasets."""
    size, stability, _ = tables
    means = {
        (table.quantity, method): float(np.mean([cell.ours for cell in table.column(method)]))
        for table in (size, stability)
        for method in ("sirus", "rulefit", "node-harvest")
        if table.column(method)
    }
    if len(means) < 6:
        return "The comparison of SIRUS with RuleFit and Node harvest takes all three."
    published = [np.mean([cell.published for cell in table.column("rulefit")]) for table in (size, stability)]
    more, fewer = (means[q, "sirus"] / means[q, "rulefit"] for q in ("stability", "size"))
    holds = "holds" if more >= 2 and fewer <= 0.5 else "does **not** hold"
    return (
        f"On average SIRUS has {means['size', 'sirus']:.1f} rules at a stability of {means['stability', 'sirus']:.2f}, "
        f"Node harvest {means['size', 'node-harvest']:.1f} at {means['stability', 'node-harvest']:.2f}. RuleFit has "
        f"{means['size', 'rulefit']:.1f} rules with free cuts; its stability of {means['stability', 'rulefit']:.2f} is "
        "that of a *different* fit, with cuts at deciles and shorter lists. Published: "
        f"{published[0]:.1f} rules, {published[1]:.2f}. The direction of the paper's conclusion {holds}; the ratios "
        "depend on the implementation of RuleFit."
    )
