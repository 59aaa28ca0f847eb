"""The command ``pysirus``: arguments in, an exit code out. Each command group has its own file.

Every complaint is one line on standard error. Commands import the library when they run, so that ``--help`` answers at
once.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NoReturn

import typer

from pysirus._runtime.console import error_console, wrapped
from pysirus._text.message import SafeTextError
from pysirus.cli import decide, edit, fit, monitor, prove, ship, use
from pysirus.cli._options import app
from pysirus.cli._streams import CLOSED_PIPE, PipeClosed, PrintError, as_typed, open_streams, printing, silence

__all__ = ["main"]

COMMANDS = (fit, use, edit, ship, decide, monitor, prove)  # importing a command's file adds it

# typer brings its own copy of click's exceptions, or imports click's: either way this is their base
_CommandError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _say(label: str, style: str, message: str, *, wrap: bool = True) -> None:
    """Say a message on standard error, on a terminal broken between words unless its characters are pointed at."""
    from rich.text import Text

    console, head = error_console(soft_wrap=True), f"{label}: "
    if console.is_terminal and wrap:
        message = wrapped(head + message, console.width)[len(head) :]
    console.print(Text.assemble((head, f"bold {style}"), (message, style)))


def _one_line(message: object) -> str:
    from pysirus._text.format import one_line

    return one_line(" ".join(str(message).split()))


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        _say("Warning", "yellow", _one_line(as_typed(message)))


def _fail(message: object, code: int) -> int:
    """Say what is wrong: in a line, or in one for each of several complaints about a table."""
    said = as_typed(message)
    lines = said.split("\n") if hasattr(message, "complaints") else [said]
    _say("Error", "red", "\n".join(map(_one_line, lines)))
    return code


def _run(arguments: list[str] | None) -> int:
    try:
        result = app(arguments, standalone_mode=False)
        with printing():
            pass  # the help and the version
        return result if isinstance(result, int) else 0
    except _CommandError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return 2
        return _fail(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except (PipeClosed, SystemExit) as leave:
        if isinstance(leave, SystemExit) and not leave.code:
            return 0  # a shell that completes a command has its answer
        silence(sys.stdout)  # the reader left (`| head`): nothing to say. typer and rich leave by themselves
        return CLOSED_PIPE
    except PrintError as error:
        return _fail(error, 1)
    except SafeTextError as error:
        from pysirus._parameters import ParameterError
        from pysirus._terms.lexicon import RuleTextError

        if isinstance(error, RuleTextError):
            _say("Error", "red", as_typed(error), wrap=False)  # with its line that points at the character
            return 2
        return _fail(error, 2 if isinstance(error, ParameterError) else 1)
    except OSError as error:
        file = f"'{error.filename}': " if error.filename and error.strerror else ""
        return _fail(f"{file}{error.strerror or error}", 1)
    except ImportError as error:
        if "pip install pysirus[" in str(error):
            return _fail(error, 1)
        raise


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    open_streams()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        code = _run(arguments)
    try:
        if code == 130:
            print(file=sys.stderr)
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)
    sys.exit(code)
