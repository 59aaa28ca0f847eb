"""How many rows a tree should draw: error, stability and time on large tables."""
