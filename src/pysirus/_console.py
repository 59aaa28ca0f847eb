"""A console on standard error for what is said beside the work, which goes on when nobody can be told any more."""

from __future__ import annotations

import io
import sys
import textwrap
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console


class _Outlived:
    """A stream whose failures are not failures of the work: a terminal that went away, a pipe without a reader."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError):  # gone, or closed by Python
            return len(text)

    def flush(self) -> None:
        """Write what can be written now."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return

    def isatty(self) -> bool:
        """Whether it is, or was, a terminal."""
        return not self._stream.closed and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def error_console(**options: Any) -> Console:
    """A console on standard error that outlives it."""
    from rich.console import Console

    stream: Any = io.StringIO() if sys.stderr is None else _Outlived(sys.stderr)
    return Console(file=stream, **options)


def wrapped(text: str, width: int) -> str:
    """Text in lines of at most ``width`` characters, broken between words; lines that go on are indented."""
    lines = [
        textwrap.wrap(line, max(width, 20), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    ]
    return "\n".join("\n".join(own) for own in lines)


def tell(text: str, style: str | None = None) -> None:
    """Say something on standard error: wrapped for a terminal, else a line each."""
    console = error_console(highlight=False, soft_wrap=True)
    console.print(wrapped(text, console.width) if console.is_terminal else text, style=style, markup=False)
