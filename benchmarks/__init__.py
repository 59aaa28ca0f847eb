"""Speed and memory of pysirus against other libraries: ``make bench``."""
