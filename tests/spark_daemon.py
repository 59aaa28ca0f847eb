"""Spark's process that forks Python workers, after it has made their imports, which would take each some seconds.

Spark puts archives on the path: its own copy of ``pyspark`` and classes of Java. Before each task a worker forgets what
it knows of its path, and reads the lists of these archives again; without them a fit needs a quarter less of its time.
The ``pyspark`` that is imported is then the installed one, whose files are the same.
"""

import sys

ARCHIVES = (".zip", ".jar")
sys.path[:] = [entry for entry in sys.path if not entry.endswith(ARCHIVES)]
for entry in [entry for entry in sys.path_importer_cache if entry.endswith(ARCHIVES)]:
    del sys.path_importer_cache[entry]

from pyspark.daemon import manager  # noqa: E402

import pysirus.engine.backends.spark  # noqa: E402
import pysirus.engine.tune  # noqa: E402, F401

if __name__ == "__main__":
    manager()
