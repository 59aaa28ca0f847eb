"""Rules beside rules and slopes: error, size and stability of staged lists (docs/slopes-study.md)."""
