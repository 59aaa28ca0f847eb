"""The frozen result of a fit: rules, weights and a schema that predict, and their file."""
