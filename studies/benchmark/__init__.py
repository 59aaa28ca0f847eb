"""Fifty tables that the project had not used, and every peer: error, size and stability (docs/benchmark-study.md)."""
