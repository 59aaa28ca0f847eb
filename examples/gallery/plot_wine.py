"""
Wine: three growers, one list
=============================

178 Italian wines from three growers, with 13 chemical measurements. One rule list serves all three classes.
"""

# %%
# Fit and judge
# -------------
# Each line shows the class that the rule moves most: its share among the wines where the rule applies, and among
# the others.

from sklearn.datasets import load_wine

from pysirus import SirusClassifier, plot

wine = load_wine(as_frame=True)
grower = "grower " + (wine.target + 1).astype(str)
model = SirusClassifier(n_rules=8, random_state=0).fit(wine.data, grower.rename("grower"))
print(model)
print(model.cross_validate(wine.data, grower))

# %%
# Where rules overlap
# -------------------
# The heat map shows, for each pair of rules, in which share of the wines both apply. Rules with a large overlap
# repeat each other.

ax = plot.overlap(model, wine.data)
ax.set_title("Wines where both rules apply")
