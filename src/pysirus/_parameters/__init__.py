"""Parameters: one table of names, defaults, checks and help, for estimators, the command line and the documentation."""

from pysirus._parameters.check import (
    ParameterError,
    check_bytes,
    check_choice,
    check_integer,
    check_jobs,
    check_real,
    to_share,
)

__all__ = ["ParameterError", "check_bytes", "check_choice", "check_integer", "check_jobs", "check_real", "to_share"]
