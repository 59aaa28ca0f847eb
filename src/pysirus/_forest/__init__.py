"""Bins in, path frequencies out (the paper's rule generation)."""
