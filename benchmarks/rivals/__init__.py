"""One file for each library that is measured; each offers functions of a Problem, to be timed."""
