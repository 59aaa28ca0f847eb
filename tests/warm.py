"""The command ``pysirus`` without the seconds that its imports take: a process that has made them forks for each call.

``command()`` starts that process and gives the words to run in the place of ``python -m pysirus``, and ``python(code)``
those in the place of ``python -c``. They start a small program, which hands over its arguments, folder, environment and
open files, passes interrupts on, waits, and ends as the command ended, by status or by signal; where it is killed the
command is too. What differs from a fresh start is how the interpreter begins (its streams, its own variables) and how
it ends: tests of that start it afresh, and with ``PYSIRUS_TEST_FULL=1`` all do.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import io
import marshal
import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

FRESH = (sys.executable, "-m", "pysirus")
STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


@functools.cache
def command() -> tuple[str, ...]:
    """What to run in the place of ``python -m pysirus``; the process behind it ends with this one."""
    if os.environ.get("PYSIRUS_TEST_FULL") == "1":
        return FRESH
    folder = tempfile.mkdtemp(prefix="pysirus-", dir="/tmp")  # a short name: those of sockets are limited
    server = subprocess.Popen([sys.executable, __file__, "serve", f"{folder}/s"], stdin=subprocess.PIPE, stdout=-1)
    assert server.stdout is not None and server.stdin is not None
    assert server.stdout.readline() == b"ready\n"

    def stop() -> None:
        server.stdin.close()
        server.stdout.close()
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return (sys.executable, "-IS", __file__, "call", f"{folder}/s")


def python(code: str) -> tuple[str, ...]:
    """The same in the place of ``python -c``."""
    if os.environ.get("PYSIRUS_TEST_FULL") == "1":
        return (sys.executable, "-c", code)
    return (*command(), "-c", code)


def words(fresh: bool = False) -> str:
    """The command for a shell."""
    return shlex.join(FRESH if fresh else command())


# ---------------------------------------------------------------------------------------------------------- the caller


def open_files() -> list[int]:
    """The numbers of the files that are open."""
    found = []
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        try:
            os.fstat(number)
            found.append(number)
        except OSError:  # the listing itself
            pass
    return found


def call(path: str, arguments: list[str]) -> None:
    """Have a command run, and end as it does."""
    numbers = open_files()
    first = socket.socket(socket.AF_UNIX)
    with socket.socket(fileno=fcntl.fcntl(first, fcntl.F_DUPFD, 100)) as server:  # not the number of a closed stream
        first.close()
        server.connect(path)
        socket.send_fds(server, [b"f"], numbers) if numbers else server.send(b"f")
        deaf = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        request = marshal.dumps((numbers, os.fsencode(Path.cwd()), dict(os.environb), arguments, deaf))
        server.sendall(struct.pack("q", len(request)) + request)
        (child,) = struct.unpack("i", server.recv(4))
        if not deaf:
            signal.signal(signal.SIGINT, lambda *_: os.kill(child, signal.SIGINT))
        code = os.waitstatus_to_exitcode(struct.unpack("i", server.recv(4))[0])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


# ---------------------------------------------------------------------------------------------------------- the server


def serve(path: str) -> list[str]:
    """Answer calls until standard input ends; returns in a child of its own for each, with its arguments."""
    import select

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([0, listener], [], [])
            if 0 in ready:
                os._exit(0)
            caller, _ = listener.accept()
            if os.fork() == 0:
                break
            caller.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, *_ = socket.recv_fds(caller, 1, 250)
    (size,) = struct.unpack("q", caller.recv(8, socket.MSG_WAITALL))
    numbers, folder, environment, arguments, deaf = marshal.loads(caller.recv(size, socket.MSG_WAITALL))
    signal.signal(signal.SIGINT, signal.SIG_IGN if deaf else signal.default_int_handler)
    if child := os.fork():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        caller.sendall(struct.pack("i", child))
        os.closerange(0, caller.fileno())
        for file in files:
            if file > caller.fileno():
                os.close(file)
        ended = os.pidfd_open(child)
        if ended not in select.select([ended, caller], [], [])[0]:
            os.kill(child, signal.SIGKILL)  # the caller is gone
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError):
            caller.sendall(struct.pack("i", status))
        os._exit(0)
    take_over(numbers, files, caller)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(environment)
    open_streams()
    return list(arguments)


def take_over(numbers: list[int], files: list[int], caller: socket.socket) -> None:
    """Give the caller's files the numbers that they have there; Arrow's pipe for signals stays where it is."""
    beyond = max([*numbers, *files, caller.fileno()]) + 1
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, beyond) for file in files]
    for file in (0, 1, 2, *files):
        os.close(file)
    caller.close()
    taken = set(numbers) & set(open_files())
    assert not taken, taken
    for number, file in zip(numbers, moved, strict=True):
        os.dup2(file, number)
        os.close(file)


def open_streams() -> None:
    """The standard streams as the interpreter makes them when it starts."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    for number, (name, mode) in enumerate(STREAMS):
        stream: Any = None
        try:
            os.fstat(number)
        except OSError:
            pass
        else:
            kind = errors or ("backslashreplace" if name == "stderr" else "strict")
            line = 1 if name == "stderr" or os.isatty(number) else -1
            stream = os.fdopen(number, mode, line, encoding=encoding, errors=kind, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def warm_up() -> None:
    """Import all that commands import when they run."""
    import pysirus
    from pysirus.cli import main

    golden = Path(__file__).parent / "golden" / "v1" / "numbers.json"
    for name in pysirus.__all__:
        getattr(pysirus, name)
    for arguments in (["show", str(golden)], ["fit", "ozone", "--trees", "1"], ["export", str(golden), "--to", "sql"]):
        said = io.StringIO()
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            main(arguments)


def run(arguments: list[str]) -> None:
    """Run a command, or code after ``-c``, and leave as the interpreter does.

    But for freeing what it imported: that takes half a second.
    """
    from pysirus.cli import main

    code: Any = 0
    coded = arguments[:1] == ["-c"]
    sys.argv = ["-c", *arguments[2:]] if coded else ["pysirus", *arguments]
    try:
        exec(arguments[1], {"__name__": "__main__"}) if coded else main()
    except SystemExit as leaving:
        code = leaving.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # none, full, closed
            code = code or 120
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "call":
        call(sys.argv[2], sys.argv[3:])
    sys.path[0:1] = []  # the folders of tests are no packages of the command's
    warm_up()
    run(serve(sys.argv[2]))
