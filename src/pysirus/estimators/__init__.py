"""Recipes of the rooms before, behind scikit-learn's interface."""
