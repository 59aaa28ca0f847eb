"""Training rows in bins, wherever they lie, and how a forest is grown on them."""
