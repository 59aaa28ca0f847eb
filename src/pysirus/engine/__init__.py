"""Rows that lie in several places: the same rules as from rows in memory.

A holder of rows answers three kinds of queries: what are your columns and your response like, what are the sums of
these nodes of these trees, what are the moments of these rules. Answers merge by addition, and all of them are exact,
so it does not matter how the rows are partitioned.
"""
