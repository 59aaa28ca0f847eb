"""Predictions and the truth in, how far they are apart out: each metric stands here, once, for all who tell it."""
