"""Columns in, cuts and bins out (the paper's quantiles)."""
