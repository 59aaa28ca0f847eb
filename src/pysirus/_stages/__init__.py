"""A list of rules in, the same list with corrections out."""
