"""Rule lists in, how much they have in common out: the paper's index, and others beside it."""

from pysirus._stability.measures import dice_sorensen, stability

__all__ = ["dice_sorensen", "stability"]
