"""PostgreSQL and MariaDB for tests: on loopback, in a temporary folder, as a user without rights, stopped for sure."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 60  # to start
PR_SET_PDEATHSIG = 1


class NoServer(Exception):
    """The server cannot be had here; the message says why."""


def find_program(*names: str) -> str:
    """A program of a server, on the path or where Debian keeps it."""
    folders = [*map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), "/usr/sbin", "/usr/bin"]
    search = os.pathsep.join([os.environ.get("PATH", ""), *folders])
    for name in names:
        if found := shutil.which(name, path=search):
            return found
    raise NoServer(f"{' or '.join(names)} is not installed")


def _who() -> dict[str, Any]:
    """How a server is started: PostgreSQL refuses to run as root, so that root gives its rights up."""
    libc = ctypes.CDLL(None, use_errno=True)

    def die_with_parent() -> None:  # a killed test process must leave no server behind
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)

    user: dict[str, Any] = {"preexec_fn": die_with_parent} if hasattr(libc, "prctl") else {}
    if os.geteuid() == 0:
        user.update(user="nobody", group="nogroup", extra_groups=[])
    return user


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder of the user who runs the server, with a name short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="pysirus-", dir="/tmp"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _prepare(command: list[str], folder: Path) -> None:
    """Make the files of a server."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, timeout=SECONDS, check=False, **_who()
    )
    if done.returncode:
        raise NoServer(f"{Path(command[0]).name} failed: {done.stdout.decode(errors='replace')[-500:]}")


@contextmanager
def _running(command: list[str], folder: Path, connect: Callable[[], Any]) -> Iterator[Any]:
    """A connection to a server while it runs."""
    log = folder / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder, **_who())
    try:
        connection = _connected(server, connect, log)
        try:
            yield connection
        finally:
            connection.close()
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing is kept
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _connected(server: subprocess.Popen[bytes], connect: Callable[[], Any], log: Path) -> Any:
    end = time.monotonic() + SECONDS
    while True:
        try:
            return connect()
        except Exception as error:
            if server.poll() is not None or time.monotonic() > end:
                tail = log.read_text(errors="replace")[-500:]
                raise NoServer(f"{Path(server.args[0]).name} did not start: {error}; {tail}") from error  # type: ignore[index]
            time.sleep(0.05)


@contextmanager
def postgres() -> Iterator[Any]:
    """A connection of psycopg."""
    import psycopg

    server, maker = find_program("postgres"), find_program("initdb")
    with _folder() as folder:
        data, port = str(folder / "data"), _free_port()
        _prepare([maker, "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], folder)
        settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off", "jit=off"]
        command = [server, "-D", data, "-p", str(port), *(part for s in settings for part in ("-c", s))]
        where = f"host=127.0.0.1 port={port} user=tests dbname=postgres"
        with _running(command, folder, lambda: psycopg.connect(where, autocommit=True)) as connection:
            yield connection


@contextmanager
def mariadb() -> Iterator[Any]:
    """A connection of PyMySQL."""
    import pymysql

    server, maker = find_program("mariadbd", "mysqld"), find_program("mariadb-install-db", "mysql_install_db")
    with _folder() as folder:
        data, port = str(folder / "data"), _free_port()
        make = [maker, "--no-defaults", f"--datadir={data}", "--skip-test-db", "--skip-name-resolve"]
        _prepare([*make, "--auth-root-authentication-method=normal", "--innodb-log-file-size=4M"], folder)
        command = [server, "--no-defaults", f"--datadir={data}", "--bind-address=127.0.0.1", f"--port={port}"]
        command += [f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}", "--innodb-log-file-size=4M"]
        command += ["--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", "--innodb-buffer-pool-size=32M"]
        connect = {"host": "127.0.0.1", "port": port, "user": "root", "charset": "utf8mb4", "autocommit": True}
        with _running(command, folder, lambda: pymysql.connect(**connect)) as connection:
            yield connection
