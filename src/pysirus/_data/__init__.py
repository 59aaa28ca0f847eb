"""Anything tabular in, columns with names and kinds out; every complaint about a table is made here."""
