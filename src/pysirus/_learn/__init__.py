"""The method: training rows in bins, growing, selection, stages, tuning, and one object for each kind of response."""
