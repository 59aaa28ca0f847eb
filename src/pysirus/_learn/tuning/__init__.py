"""Folds in, a path over p0 and a choice out (the paper's section on tuning)."""
