"""Spark's process that forks Python workers, after it has made their imports, which would take each some seconds."""

from pyspark.daemon import manager

import pysirus.engine.holders.spark  # noqa: F401

if __name__ == "__main__":
    manager()
