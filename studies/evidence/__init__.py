"""How far the figures of evidence can be trusted: returns of terms, stability of eight datasets, coverage."""
