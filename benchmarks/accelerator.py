"""The forest on a GPU: are its trees those of the core, and how fast are they grown? JSON lines, one for each figure.

docs/accelerator.md shows the lines of benchmarks/results/accelerator.jsonl; benchmarks/accelerator_page.py writes it.

    python benchmarks/accelerator.py                           every part, each in a process and a time limit of its own
    python benchmarks/accelerator.py --parts equal,million     some of them
    python benchmarks/accelerator.py --scale 0.01 --platform cpu     a hundredth of the rows on JAX's CPU: does it run?

equal        splits of six tables, and of one of 300,000 rows whose sums do not fit 53 bits, against the core's
kernels      seconds of each step on 1,000,000 x 100
million      1,000,000 x 100, 10,000 trees: growing, search included, median of 5
fit          the same from numbers to rules, with transfer, encoding and compilation, beside the core on all cores
first        the same in a process that has compiled nothing: without compiled code on disk, and with it
files        2,000,000 x 50 in Parquet, 10,000 trees: `fit_files` on the GPU and on all cores
drawn        1,000,000 x 100, 10,000 trees that draw 10,000 rows each: the GPU beside the core
ten_million  10,000,000 x 100, 1,000 trees
tuning       10 x 10 tuning of 100,000 x 50, beside the core on all cores
crossover    a fit by rows and trees, a warm GPU beside the core

Figures go to standard output and are added to the file of --out. A part that fails leaves a line with its error.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PEAK = 1979e12  # int8 operations a second of an H200, by its datasheet
LIMITS = {
    "equal": 200,
    "kernels": 200,
    "million": 150,
    "fit": 150,
    "first": 60,
    "files": 90,
    "drawn": 60,
    "ten_million": 150,
    "tuning": 240,
    "crossover": 120,
}
ROOT = Path(__file__).parents[1]


def say(part: str, **figures: Any) -> None:
    """One line of figures."""
    print(json.dumps({"part": part, **figures}), flush=True)


def median_seconds(job: Callable[[], Any], repeats: int = 5) -> tuple[float, list[float]]:
    """After one run that is not counted."""
    job()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), [round(s, 5) for s in seconds]


# ------------------------------------------------------------------------------------------------------------- tables


def binned_numbers(n_rows: int, n_columns: int, seed: int = 0) -> tuple[Any, Any]:
    """Columns in ten equal bins, and a response of three of them, without the numbers that would have been binned."""
    from pysirus._bins.cuts import Binned, bin_table
    from pysirus._data.table import read_table
    from pysirus._families.responses import NumberResponse

    rng = np.random.default_rng(seed)
    few = rng.normal(size=(1000, n_columns))
    cuts = bin_table(read_table(few), NumberResponse(few[:, 0]), n_bins=10, discrete_limit=10).cuts
    bins = rng.integers(0, 10, size=(n_columns, n_rows), dtype=np.uint8)
    y = 2.0 * (bins[0] > 4) + (bins[1] > 6) * (bins[2] < 5) + rng.normal(size=n_rows) / 2
    return Binned(bins, cuts), NumberResponse(y)


def numbers(n_rows: int, n_columns: int, seed: int = 0) -> tuple[Any, Any]:
    """The same as numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_columns, n_rows), dtype=np.float32).T
    y = 2.0 * (X[:, 0] > 0) + (X[:, 1] > 0.5) * (X[:, 2] < 0) + rng.standard_normal(n_rows) / 2
    return X, y


def six_tables(n_rows: int) -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Tables of every kind: weights, categories, missing values, classes, residuals of a stage, blocks of rows."""
    import pyarrow as pa

    from pysirus._families.responses import ClassResponse, NumberResponse, VectorResponse
    from pysirus._forest.gpu import BlockLimits

    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 12))
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = X[:, 0] > 0  # a tie with a cut of column 0
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] + rng.normal(size=n_rows)
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    weights = rng.exponential(size=n_rows)
    levels = np.array(["north", "south", "east", "west", "centre"])
    frame = pa.table(
        {f"x{j}": column for j, column in enumerate(X.T[:6])}
        | {"place": levels[rng.integers(0, 5, n_rows)], "code": [f"c{k}" for k in rng.integers(0, 40, n_rows)]}
    )
    classes = np.digitize(y, [-1, 1]).astype(np.uint8)
    residuals = np.eye(3)[classes] - rng.dirichlet(np.ones(3), n_rows)
    whole = NumberResponse(y)
    stage: dict[str, Any] = {"max_features": 12, "max_samples": 0.3}
    return {
        "weights": (X, NumberResponse(y, weights=weights), {}),
        "categories": (frame, whole, {}),
        "missing values": (gaps, whole, {}),
        "three classes": (gaps, ClassResponse(classes, np.arange(3)), {}),
        "residuals of a stage": (X, VectorResponse(residuals), stage),
        "larger than a block": (gaps, whole, {"most": BlockLimits(rows=n_rows // 3), "max_depth": 3}),
    }


# -------------------------------------------------------------------------------------------------------------- parts


def equal(scale: float) -> None:
    """Every split of every tree against the core's."""
    from pysirus._bins.cuts import bin_table
    from pysirus._data.table import read_table
    from pysirus._forest.forest import Forest, Recipe
    from pysirus._forest.gpu import DeviceForest
    from pysirus._forest.gpu_setup import accelerator

    card, n_rows, n_trees = accelerator(), max(1000, int(100_000 * scale)), 1000

    def compare(name: str, binned: Any, response: Any, recipe: Any, most: Any) -> None:
        start = time.perf_counter()
        core = Forest(binned, response, recipe).grow(n_trees)
        middle = time.perf_counter()
        forest = DeviceForest(binned, response, recipe, card, most=most)
        found = forest.grow(n_trees)
        different = int((found != core).any(axis=1).sum())
        rows, blocks = response.n_rows, forest.blocks
        say(
            "equal",
            table=name,
            rows=rows,
            trees=n_trees,
            different_trees=different,
            splits=int((core >= 0).sum()),
            row_blocks=-(-rows // blocks.n_rows),
            trees_together=blocks.trees_together(n_trees),
            core_s=round(middle - start, 3),
            card_with_compilation_s=round(time.perf_counter() - middle, 3),
        )

    for name, (X, response, options) in six_tables(n_rows).items():
        most = options.pop("most", None)
        binned = bin_table(read_table(X), response, n_bins=10, discrete_limit=10)
        compare(name, binned, response, Recipe(seed=3, n_threads=os.cpu_count() or 1, **options), most)
    recipe = Recipe(seed=3, n_threads=os.cpu_count() or 1)
    compare("sums beyond 53 bits", *binned_numbers(3 * n_rows, 30), recipe, None)


def kernels(scale: float) -> None:
    """The steps of growing, each by itself."""
    from pysirus._forest import gpu_kernels as steps
    from pysirus._forest.forest import Recipe
    from pysirus._forest.gpu import DeviceForest
    from pysirus._forest.gpu_setup import accelerator

    card = accelerator()
    binned, response = binned_numbers(int(1_000_000 * scale), 100)
    forest = DeviceForest(binned, response, Recipe(seed=1), card)
    with card.computing():
        forest._load(10_000)
        block = forest._rows[0]
        matrix = block.load()[1]
        clock("encode", lambda: steps.encode(block._rows, *forest.cells, forest.shape), bytes=int(matrix.nbytes))
        for n_trees in (2000, 10_000, 1024, 2304, 4608):
            if scale > 0.1 or n_trees == 1024:
                time_steps(forest, n_trees)  # which lets go of its arrays at the end
                clock("block", lambda n=n_trees: forest._grow_block(0, n), trees=n_trees)


def clock(name: str, job: Callable[[], Any], **more: Any) -> None:
    """One step."""
    import jax

    try:
        seconds, _ = median_seconds(lambda: jax.block_until_ready(job()), 5)
        if "operations" in more:
            more["tops"] = round(more.pop("operations") / seconds / 1e12, 1)
        say("kernels", step=name, ms=round(1e3 * seconds, 3), **more)
    except Exception as error:
        say("kernels", step=name, error=f"{type(error).__name__}: {error}"[:300])


def time_steps(forest: Any, n_trees: int) -> None:
    """The steps of a block of trees."""
    from pysirus._forest import gpu_kernels as steps
    from pysirus._forest.gpu_kernels import search

    card, shape = forest.card, forest.shape
    bins, matrix = forest._rows[0].load()
    n = bins.shape[1]
    asked = (np.uint64(1), np.uint64(0), n_trees, 3, 100, 33)
    clock("start", lambda: steps.start_trees(*asked), trees=n_trees)
    keys, nodes, candidates = steps.start_trees(*asked)
    drawing = (keys, card.put(np.uint32(0)), n, forest.thresholds)
    clock("draw", lambda: steps.draw_counts(*drawing), trees=n_trees)
    counts = steps.draw_counts(*drawing)
    work = 2 * shape.n_rows * n * n_trees
    clock("multiply", lambda: steps.multiply(matrix, counts), trees=n_trees, operations=work)
    product = steps.multiply(matrix, counts)
    clock("sums", lambda: steps.sums_of(product, shape), trees=n_trees)
    sums = steps.sums_of(product, shape)
    above, left = card.put(np.zeros(n_trees, dtype=np.int32)), np.array([True])

    def find() -> Any:
        return search(sums, np.int32(0), nodes, candidates, above, np.int64(5), forest.table, forest._zero, shape)

    clock("search", find, trees=n_trees)
    route = find().route
    clock("mask", lambda: steps.mask_counts(counts, bins, (route,), left), trees=n_trees)
    inside = steps.mask_counts(counts, bins, (route,), left)
    clock("multiply masked", lambda: steps.multiply(matrix, inside), trees=n_trees, operations=work)


def grow_timed(part: str, n_rows: int, n_columns: int, n_trees: int, repeats: int, most: int | None = None) -> None:
    """Growing, search included; the table is on the GPU, the code compiled."""
    from pysirus._forest.forest import Forest, Recipe
    from pysirus._forest.gpu import BlockLimits, DeviceForest
    from pysirus._forest.gpu_setup import accelerator

    binned, response = binned_numbers(n_rows, n_columns)
    recipe = Recipe(seed=1, n_threads=os.cpu_count() or 1)
    start = time.perf_counter()
    forest = DeviceForest(
        binned, response, recipe, accelerator(), most=None if most is None else BlockLimits(trees=most)
    )
    first = forest.grow(n_trees)
    cold = time.perf_counter() - start
    seconds, each = median_seconds(lambda: forest._splits(0, n_trees), repeats)
    checked = min(n_trees, 256)
    start = time.perf_counter()
    core = Forest(binned, response, recipe).grow(checked)
    core_s = time.perf_counter() - start
    blocks, shape = forest.blocks, forest.shape
    operations = 2 * 2 * shape.n_rows * blocks.n_rows * -(-n_rows // blocks.n_rows) * n_trees
    say(
        part,
        rows=n_rows,
        columns=n_columns,
        trees=n_trees,
        grow_s=round(seconds, 5),
        each=each,
        first_with_compilation_s=round(cold, 3),
        rows_columns_trees_a_second=float(f"{n_rows * n_columns * n_trees / seconds:.4g}"),
        int8_tops=round(operations / seconds / 1e12, 1),
        share_of_peak=round(operations / seconds / PEAK, 4),
        trees_together=blocks.trees_together(n_trees),
        row_blocks=-(-n_rows // blocks.n_rows),
        trees_checked=checked,
        different_trees=int((first[:checked] != core).any(axis=1).sum()),
        core_s_of_all_trees=round(core_s * n_trees / checked, 3),
        core_threads=recipe.n_threads,
    )


def million(scale: float) -> None:
    """A million rows; by how many trees are grown together."""
    for most in (10_000, 5008, 2000, None):
        grow_timed("million", int(1_000_000 * scale), 100, max(256, int(10_000 * min(1, 10 * scale))), 5, most)


def ten_million(scale: float) -> None:
    """Ten million rows."""
    grow_timed("ten_million", int(10_000_000 * scale), 100, max(256, int(1_000 * min(1, 10 * scale))), 3)


def saved(estimator: Any) -> dict[str, Any]:
    """The model file of an estimator without the parameters, which name the device and the threads."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        estimator.save(Path(folder) / "model.json")
        document = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
    document.pop("estimator")
    return document


def fit(scale: float) -> None:
    """From numbers to rules."""
    from pysirus import SirusRegressor
    from pysirus._forest.gpu import TREES

    n_trees = max(256, int(10_000 * min(1, 10 * scale)))
    X, y = numbers(int(1_000_000 * scale), 100)
    models = {}
    jobs = (("gpu", "gpu"), ("gpu again", "gpu"), ("cpu", "cpu"))
    for name, device in jobs:
        start = time.perf_counter()
        models[name] = SirusRegressor(n_trees=n_trees, random_state=0, n_jobs=-1, device=device).fit(X, y)
        seconds = time.perf_counter() - start
        size = {"rows": len(X), "columns": 100, "trees": n_trees, "most_trees_together": TREES}
        say("fit", **size, device=models[name].device_, run=name, s=round(seconds, 3))
    say("fit", equal_models=saved(models["gpu"]) == saved(models["cpu"]), threads=os.cpu_count())


def first(scale: float) -> None:
    """Without compiled code on disk, and with what that run has left there; each in a process of its own."""
    import tempfile

    from pysirus._forest.gpu_setup import SWITCH

    command = [sys.executable, __file__, "--only", "first_here", "--scale", str(scale)]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        for name in ("JAX_COMPILATION_CACHE_DIR", SWITCH):
            environment.pop(name, None)
        for run in ("nothing on disk", "compiled code on disk"):
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            say("first", run=run, **{k: v for k, v in json.loads(done.stdout.splitlines()[-1]).items() if k != "part"})
        kept = [path for path in Path(folder).rglob("*") if path.is_file()]
        say("first", files=len(kept), bytes=sum(path.stat().st_size for path in kept))


def first_here(scale: float) -> None:
    """The first and the second fit of this process."""
    from pysirus import SirusRegressor

    n_trees = max(256, int(10_000 * min(1, 10 * scale)))
    X, y = numbers(int(1_000_000 * scale), 100)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        SirusRegressor(n_trees=n_trees, random_state=0, n_jobs=-1, device="gpu").fit(X, y)
        seconds.append(round(time.perf_counter() - start, 3))
    say("first", rows=len(X), columns=100, trees=n_trees, s=seconds[0], again_s=seconds[1])


def files(scale: float) -> None:
    """From Parquet to rules."""
    import tempfile

    import pyarrow as pa
    import pyarrow.parquet as pq

    from pysirus import SirusRegressor

    n_rows, n_trees, models = int(500_000 * scale), max(256, int(10_000 * min(1, 10 * scale))), {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.parquet" for i in range(4)]
        for i, path in enumerate(paths):
            X, y = numbers(n_rows, 50, i)
            table = pa.table({**{f"x{j}": X[:, j] for j in range(50)}, "y": y})
            pq.write_table(table, path, compression="none", row_group_size=100_000)
        for name, device in (("gpu", "gpu"), ("gpu again", "gpu"), ("cpu", "cpu")):
            start = time.perf_counter()
            model = SirusRegressor(n_trees=n_trees, random_state=0, n_jobs=-1, device=device)
            models[name] = model.fit_files([str(path) for path in paths], "y")
            seconds = round(time.perf_counter() - start, 3)
            say("files", rows=4 * n_rows, columns=50, trees=n_trees, run=name, s=seconds)
    say("files", equal_models=saved(models["gpu"]) == saved(models["cpu"]), threads=os.cpu_count())


def drawn(scale: float) -> None:
    """Trees that draw a hundredth of the rows."""
    from pysirus._forest.forest import Forest, Recipe
    from pysirus._forest.gpu import DeviceForest
    from pysirus._forest.gpu_setup import accelerator

    binned, response = binned_numbers(int(1_000_000 * scale), 100)
    n_trees, cores = max(256, int(10_000 * min(1, 10 * scale))), os.cpu_count() or 1
    recipe = Recipe(seed=3, n_threads=cores, max_samples=0.01, in_blocks=True)
    start = time.perf_counter()
    core = Forest(binned, response, recipe).grow(n_trees)
    core_s = time.perf_counter() - start
    forest = DeviceForest(binned, response, recipe, accelerator())
    start = time.perf_counter()
    different = int((forest.grow(n_trees) != core).any(axis=1).sum())
    first_s = time.perf_counter() - start
    seconds, each = median_seconds(lambda: forest._splits(0, n_trees), 3)
    size = {"rows": response.n_rows, "columns": 100, "trees": n_trees, "draws": response.n_rows // 100}
    times = {"grow_s": round(seconds, 4), "first_s": round(first_s, 3), "core_s": round(core_s, 3)}
    say("drawn", **size, **times, each=each, core_threads=cores, different_trees=different)


def tuning(scale: float) -> None:
    """Ten times ten folds."""
    from pysirus import SirusRegressorCV

    X, y = numbers(int(100_000 * scale), 50)
    models = {}
    for device in ("gpu", "cpu"):
        start = time.perf_counter()
        models[device] = SirusRegressorCV(n_repeats=10, random_state=0, n_jobs=-1, device=device).fit(X, y)
        seconds = time.perf_counter() - start
        own = models[device]
        trees = int(own.model_.facts["n_trees"])
        say("tuning", rows=len(X), columns=50, device=own.device_, s=round(seconds, 3), p0=own.p0_, trees=trees)
    say("tuning", equal_models=saved(models["gpu"]) == saved(models["cpu"]), threads=os.cpu_count())


def crossover(scale: float) -> None:
    """Growing by rows and trees: a GPU with compiled code, and the core on one thread and on all."""
    from pysirus._forest.forest import Forest, Recipe
    from pysirus._forest.gpu import DeviceForest
    from pysirus._forest.gpu_setup import accelerator

    card, cores = accelerator(), os.cpu_count() or 1

    def time_one(binned: Any, response: Any, n_trees: int) -> None:
        def on_card() -> Any:
            return DeviceForest(binned, response, Recipe(seed=1), card).grow(n_trees)

        def on_core() -> Any:
            return Forest(binned, response, Recipe(seed=1, n_threads=cores)).grow(n_trees)

        start = time.perf_counter()
        on_card()
        first = time.perf_counter() - start
        card_s, core_s = median_seconds(on_card, 3)[0], median_seconds(on_core, 1)[0]
        shown = {"card_s": round(card_s, 5), "core_s": round(core_s, 5), "compilation_s": round(first - card_s, 3)}
        say("crossover", rows=response.n_rows, columns=20, trees=n_trees, **shown, core_threads=cores)

    for n_rows in (1_000, 10_000, 100_000, 1_000_000):
        table = binned_numbers(max(500, int(n_rows * scale)), 20)
        for n_trees in (1_000, 10_000):
            time_one(*table, n_trees)


# ------------------------------------------------------------------------------------------------------------ running


def run_parts(arguments: argparse.Namespace) -> None:
    """Each part in a process of its own, which is ended when its time is over."""
    from pysirus._forest.gpu_setup import SWITCH, TEST_PLATFORM

    environment = {**os.environ, "PYTHONUNBUFFERED": "1", SWITCH: "off"}  # so that a first time is one
    if arguments.platform != "gpu":
        environment[TEST_PLATFORM] = arguments.platform
    with Path(arguments.out or os.devnull).open("a", encoding="utf-8") as out:

        def write(line: str) -> None:
            print(line, flush=True)
            out.write(line + "\n")
            out.flush()

        for part in arguments.parts.split(","):
            limit = LIMITS[part] * arguments.patience
            command = [sys.executable, __file__, "--only", part, "--scale", str(arguments.scale)]
            start = time.perf_counter()
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
            try:
                text, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()
                text = process.communicate()[0] + json.dumps({"part": part, "error": f"not done in {limit:g} s"})
            for line in text.splitlines():
                write(line)
            write(json.dumps({"part": part, "ended": process.returncode, "s": round(time.perf_counter() - start, 1)}))


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(LIMITS))
    parser.add_argument("--only", help="one part, in this process")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--patience", type=float, default=1.0, help="times the time limits")
    parser.add_argument("--platform", default="gpu", help="of JAX")
    parser.add_argument("--out", help="file to add the lines to")
    arguments = parser.parse_args()
    if arguments.only is None:
        run_parts(arguments)
        return
    try:
        import jax

        from pysirus._forest.gpu_setup import accelerator

        say(arguments.only, jax=jax.__version__, device=accelerator().name, cores=os.cpu_count())
        globals()[arguments.only](arguments.scale)
    except Exception as error:
        say(arguments.only, error=f"{type(error).__name__}: {error}"[:600], trace=traceback.format_exc()[-1500:])
        sys.exit(1)


if __name__ == "__main__":
    main()
