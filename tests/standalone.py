"""A Spark cluster of its own: a master and two workers on loopback, each a process, with executors of one core."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from servers import NoServer, _free_port

SECONDS = 120
N_WORKERS = 2
TESTS = Path(__file__).parent
SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a compiler that is done soon, one thread for garbage


@contextmanager
def _process(name: str, *arguments: str, log: Path, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """A class of Spark while it runs, from when its log says that it is ready."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SMALL,
    }
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=log.parent,
        )
    try:
        end = time.monotonic() + SECONDS
        while ready not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > end:
                raise NoServer(f"{name} did not start: {log.read_text(errors='replace')[-800:]}")
            time.sleep(0.1)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers, which leave their files in a folder."""
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        where = ["--host", "127.0.0.1", "--webui-port", "0"]
        master = _process(
            "master.Master", *where, "--port", str(port), log=folder / "master", ready="I have been elected"
        )
        stack.enter_context(master)
        for i in range(N_WORKERS):
            options = [*where, "--cores", "1", "--memory", "700m", "--work-dir", str(folder / f"work-{i}")]
            log = folder / f"worker-{i}"
            stack.enter_context(_process("worker.Worker", *options, address, log=log, ready="Successfully registered"))
        yield address


@contextmanager
def session(address: str, folder: Path) -> Iterator[Any]:
    """A session with an executor on each worker."""
    from pyspark.sql import SparkSession

    path = os.pathsep.join([str(TESTS), str(TESTS / "engine")])
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executor.extraJavaOptions": SMALL,
        "spark.executorEnv.PYTHONPATH": path,
        "spark.python.daemon.module": "spark_daemon",
        "spark.sql.shuffle.partitions": "3",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(address).appName("pysirus")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
