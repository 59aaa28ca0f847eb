"""The targets in Python. Each has ``one(data)``, which fails where a door lets something through, and ``plant()``.

python -m trust.fuzz.doors rules -seed=1 -runs=1000      # further arguments are libFuzzer's
"""

NAMES = ("rules", "tables", "models", "commands", "arrays")
