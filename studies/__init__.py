"""Studies of pysirus beyond the paper. Each is a package with one command, which can be stopped and continued."""
