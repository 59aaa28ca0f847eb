"""Anything tabular in, columns with names and kinds out; all errors about a table are raised here."""
