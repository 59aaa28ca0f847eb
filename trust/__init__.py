"""Fuzzing, faults, other processors, coverage: what finds the next bug first. docs/trust.md has the figures."""
