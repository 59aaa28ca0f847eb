"""``python -m pysirus`` is the command ``pysirus``."""

from pysirus.cli import main

if __name__ == "__main__":
    main()
