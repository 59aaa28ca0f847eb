"""Damaged model files: a generator (``mutants``), the whole life of a model (``life``), and a run over thousands.

    PYTHONPATH=tests python -m damage --count 20000 --seed 0

reports how many files were refused, how many models work, and whatever else happened (which is to be nothing).
"""
