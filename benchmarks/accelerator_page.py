"""Lines of benchmarks/results/accelerator.jsonl in, the figures of docs/accelerator.md out.

    python benchmarks/accelerator.py --out benchmarks/results/accelerator.jsonl
    python benchmarks/accelerator_page.py

Of a part that was run several times the last run counts. The text around the figures is written in the page itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from pysirus._forest.gpu_setup import STARTING

ROOT = Path(__file__).parents[1]
LINES = ROOT / "benchmarks" / "results" / "accelerator.jsonl"
PAGE = ROOT / "docs" / "accelerator.md"
PART = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
ALL_TREES = 10_000  # of a block, where a line does not say: blocks were not limited then
BANDWIDTH = 4.8e12  # bytes a second of an H200's memory, by its datasheet
PEAK = 1979e12  # its int8 operations a second
MATRIX = 3616  # rows of the matrix of 100 columns in ten bins

Lines = list[dict[str, Any]]


def read() -> dict[str, Lines]:
    """The lines of each part's last run; the first one says where it ran."""
    runs: dict[str, Lines] = {}
    for text in LINES.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if "jax" in line:
            runs[line["part"]] = []
        runs[line["part"]].append(line)
    return runs


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, figures to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def paragraph(*parts: str) -> str:
    """Text in lines."""
    return fill("".join(parts), 120, break_on_hyphens=False) + "\n"


def power(number: float) -> str:
    """A large number, such as 8.5e12."""
    return f"{number:.1e}".replace("e+", "e")


def machine(runs: dict[str, Lines]) -> str:
    """Where all of it ran."""
    found = {(first["device"], first["jax"], first["cores"]) for first, *_ in runs.values()}
    texts = [f"An {device} with JAX {jax}, compared with {cores} CPU cores" for device, jax, cores in sorted(found)]
    return "; ".join(texts) + ".\n"


def equal(runs: dict[str, Lines]) -> str:
    """Trees of the GPU that differ from the core's."""
    rows = [
        [
            *(line["table"], f"{line['rows']:,}", f"{line['trees']:,}", f"{line['splits']:,}"),
            *(str(line["row_blocks"]), str(line["different_trees"])),
        ]
        for line in runs["equal"]
        if "table" in line
    ]
    return table(["table", "rows", "trees", "splits", "blocks of rows", "different trees"], rows)


def growing(runs: dict[str, Lines]) -> str:
    """Growing by trees of a block."""
    rows = [
        [
            *(f"{line['rows']:,} x {line['columns']}", f"{line['trees']:,}", f"{line['trees_together']:,}"),
            *(f"{line['grow_s']:.3f}", power(line["rows_columns_trees_a_second"]), f"{line['int8_tops']:,.0f}"),
            *(f"{line['share_of_peak']:.0%}", f"{line['first_with_compilation_s']:.1f}", str(line["different_trees"])),
        ]
        for line in [*runs["million"], *runs["ten_million"]]
        if "grow_s" in line
    ]
    head = ["rows x columns", "trees", "trees in a block", "seconds", "rows x columns x trees a second"]
    head += ["int8 TOPS", "of the peak", "first time, with compilation", "different trees of 256"]
    return table(head, rows)


def steps(runs: dict[str, Lines]) -> str:
    """The steps of a block, in milliseconds."""
    names = ["start", "draw", "multiply", "sums", "candidates", "search", "mask", "multiply masked", "block"]
    found = {(line["step"], line["trees"]): line for line in runs["kernels"] if "trees" in line}
    names = [name for name in names if any(name == step for step, _ in found)]
    sizes = sorted({trees for _, trees in found})
    rows = [[name, *(f"{found[name, size]['ms']:.1f}" for size in sizes)] for name in names]
    rows.append(["TOPS of multiply", *(f"{found['multiply', size]['tops']:,.0f}" for size in sizes)])
    encode = next(line for line in runs["kernels"] if line.get("step") == "encode")
    return (
        table(["step", *(f"{size:,} trees" for size in sizes)], rows)
        + f"\nThe matrix ({encode['bytes'] / 1e9:.1f} GB) is built once per table, in {encode['ms']:.1f} ms. "
        "The row *block* shows the time of a whole block, which needs three searches.\n"
    )


def roofline(runs: dict[str, Lines]) -> str:
    """Operations, bytes, and what is reached."""
    line = min((line for line in runs["million"] if "grow_s" in line), key=lambda line: line["trees_together"])
    trees = line["trees_together"]
    intensity = 2 * MATRIX * trees / (MATRIX + trees)
    rates = [found["tops"] for found in runs["kernels"] if "tops" in found]
    best = max(found["int8_tops"] for found in runs["million"] if "int8_tops" in found)
    return paragraph(
        f"A product of {MATRIX:,} rows with {trees:,} trees does {intensity:,.0f} operations for each byte that ",
        f"it reads. According to its datasheet ({PEAK / 1e12:,.0f} TOPS and {BANDWIDTH / 1e12:.1f} TB/s), the GPU ",
        f"reaches its peak from {PEAK / BANDWIDTH:,.0f} operations per byte on. So the product is limited by ",
        f"arithmetic and not by memory. The product alone runs at {min(rates):,.0f} to {max(rates):,.0f} TOPS. With ",
        f"draws, masks and the search, the rate is {best:,.0f} TOPS, or {best * 1e12 / PEAK:.0%} of the peak.",
    )


def fit(runs: dict[str, Lines]) -> str:
    """From numbers to rules."""
    timed = [line for line in runs["fit"] if "run" in line]
    names = {"gpu": "GPU, first time", "gpu again": "GPU, again"}
    same = next(line for line in runs["fit"] if "equal_models" in line)
    names["cpu"] = f"CPU, {same['threads']} threads"
    rows = [
        [
            f"{line['rows']:,} x {line['columns']}, {line['trees']:,} trees",
            names[line["run"]],
            f"{line.get('most_trees_together', ALL_TREES):,}" if line["run"] != "cpu" else "",
            f"{line['s']:.1f}",
        ]
        for line in timed
    ]
    tuned = [line for line in runs["tuning"] if "s" in line and "device" in line and "rows" in line]
    equals = next(line for line in runs["tuning"] if "equal_models" in line)
    for line in tuned:
        where = f"CPU, {equals['threads']} threads" if line["device"] == "cpu" else "GPU, first time"
        size = f"tuning by 10 x 10 folds, {line['rows']:,} x {line['columns']}"
        rows.append([size, where, "" if line["device"] == "cpu" else "1,008", f"{line['s']:.1f}"])
    equal = [same["equal_models"], equals["equal_models"]]
    words = "identical in both cases" if all(equal) else f"identical: fit {equal[0]}, tuning {equal[1]}"
    return table(["", "on", "trees in a block", "seconds"], rows) + f"\nThe models are {words}.\n"


def first(runs: dict[str, Lines]) -> str:
    """The first fit of a process, without compiled code on disk and with it."""
    timed = [line for line in runs["first"] if "run" in line]
    kept = next(line for line in runs["first"] if "bytes" in line)
    rows = [[line["run"], f"{line['s']:.1f}", f"{line['again_s']:.1f}"] for line in timed]
    size = f"{timed[0]['rows']:,} x {timed[0]['columns']}, {timed[0]['trees']:,} trees"
    text = paragraph(f"The compiled code took {kept['bytes'] / 1024:.0f} KB on disk.")
    return table([size, "first fit of a process, seconds", "second"], rows) + "\n" + text


def files(runs: dict[str, Lines]) -> str:
    """From Parquet to rules."""
    timed = [line for line in runs["files"] if "run" in line]
    same = next(line for line in runs["files"] if "equal_models" in line)
    names = {"gpu": "GPU, first time", "gpu again": "GPU, again", "cpu": f"CPU, {same['threads']} threads"}
    rows = [
        [
            f"{line['rows']:,} x {line['columns']}, {line['trees']:,} trees",
            names[line["run"]],
            f"{line['s']:.1f}",
        ]
        for line in timed
    ]
    words = {True: "identical", False: "different"}
    return table(["`fit_files`", "on", "seconds"], rows) + f"\nThe models are {words[same['equal_models']]}.\n"


def drawn(runs: dict[str, Lines]) -> str:
    """Trees that draw few of the rows."""
    line = next(line for line in runs["drawn"] if "grow_s" in line)
    return paragraph(
        f"On {line['rows']:,} x {line['columns']}, {line['trees']:,} trees that each draw {line['draws']:,} rows take ",
        f"{line['grow_s']:.2f} s on the GPU with compiled code and {line['core_s']:.2f} s on {line['core_threads']} ",
        f"threads of the CPU. {line['different_trees']} trees differ. The GPU still multiplies all rows, so drawing ",
        "few rows saves it little time.",
    )


def pays(runs: dict[str, Lines]) -> str:
    """What the threshold of "auto" comes from."""
    start, rate = start_and_rate(runs)
    rows = [[str(n), power(STARTING * n), f"{STARTING * n / 1e4 / 100:,.0f}"] for n in (1, 4, 16)]
    text = paragraph(
        f"Compilation and the first forest took {start:.1f} s. With 16 threads busy, one thread of the CPU fits ",
        f"{power(rate)} rows x columns x trees per second. Without compiled code, the GPU therefore breaks even at ",
        f'{power(start * rate)} rows x columns x trees per thread. `"auto"` requires {power(STARTING)}, because a ',
        "thread that runs alone is faster than one of 16, and finding the GPU takes time too. The table shows how ",
        "many rows that means:",
    )
    return text + "\n" + table(["threads", "rows x columns x trees", "rows, if 100 columns and 10,000 trees"], rows)


def start_and_rate(runs: dict[str, Lines]) -> tuple[float, float]:
    """Seconds until the first forest of a cold card; rows x columns x trees a second of a thread of the CPU."""
    cold = min((line for line in runs["million"] if "grow_s" in line), key=lambda line: line["trees_together"])
    cpu = next(line for line in runs["fit"] if line.get("run") == "cpu")
    threads = next(line["threads"] for line in runs["fit"] if "threads" in line)
    return cold["first_with_compilation_s"], cpu["rows"] * cpu["columns"] * cpu["trees"] / cpu["s"] / threads


PARTS: dict[str, Callable[[dict[str, Lines]], str]] = {
    own.__name__: own for own in (machine, equal, growing, steps, roofline, fit, first, files, drawn, pays)
}


def with_figures(page: str) -> str:
    """The page with the figures of the file."""
    runs = read()
    return PART.sub(lambda found: found[1] + "\n" + PARTS[found[2]](runs) + "\n" + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
