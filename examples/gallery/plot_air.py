"""
Air: ozone from the weather
===========================

The table of the SIRUS paper: 330 days in Los Angeles in 1976, with the weather in the morning and the highest ozone
of the day. How far do ten rules go?
"""

# %%
# Ten rules
# ---------
# ``n_rules=10`` keeps the ten most frequent rules of the forest. Each line says what the mean ozone was on days
# where the rule applies, and on the others.

from pysirus import SirusRegressor, plot
from pysirus.datasets import load_ozone

X, y = load_ozone(return_X_y=True, as_frame=True)
model = SirusRegressor(n_rules=10, random_state=0).fit(X, y)
print(model)

# %%
# What temperature does
# ---------------------
# The effect of a feature is a step function, because rules are. The picture and the printed list say the same:
# ozone rises with temperature in a few steps.

ax = plot.effect(model, "temp", X)
ax.set_xlabel("temperature (°F)")
