"""The command ``pysirus``: arguments in, tables and files out. Each command group has its own file.

Commands import the library when they run, so that ``--help`` answers at once.
"""

from pysirus.cli._run import main

__all__ = ["main"]
