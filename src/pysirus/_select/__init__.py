"""Paths in, a short list of independent rules out (the paper's rule selection and post-treatment)."""
