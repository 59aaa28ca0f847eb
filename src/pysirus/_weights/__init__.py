"""Rules in, outputs and weights out (the paper's rule aggregation)."""
