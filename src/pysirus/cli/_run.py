"""Arguments in, an exit code out: every complaint is one line on standard error."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, NoReturn

import typer

from pysirus.cli import fit, ship, tune, use
from pysirus.cli._app import app
from pysirus.cli._options import as_typed

COMMANDS = (fit, tune, use, ship)  # importing a command's file adds it to the application

# typer brings its own copy of click's exceptions, or imports click's: either way this is their base
_CommandError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _say(label: str, style: str, message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    text = Text.assemble((f"{label}: ", f"bold {style}"), (message, style))
    Console(stderr=True, soft_wrap=True).print(text)


def _one_line(message: object) -> str:
    return " ".join(str(message).split())


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        _say("Warning", "yellow", _one_line(message))


def _fail(message: object, code: int) -> int:
    _say("Error", "red", _one_line(message))
    return code


def _run(arguments: list[str] | None) -> int:
    try:
        result = app(arguments, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except _CommandError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return 2
        return _fail(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        # the reader left (`| head`): nothing to say, and nothing to say it to when Python closes the stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        file = f"'{error.filename}': " if error.filename and error.strerror else ""
        return _fail(f"{file}{error.strerror or error}", 1)
    except ValueError as error:
        from pysirus._data.column import DataError
        from pysirus._model.file import ModelFileError
        from pysirus._parameters import ParameterError

        if isinstance(error, ParameterError):
            return _fail(as_typed(str(error)), 2)
        from pysirus.export import ExportError

        if isinstance(error, (DataError, ModelFileError, ExportError)):
            return _fail(as_typed(str(error)), 1)
        raise
    except ImportError as error:
        if "pip install pysirus[" in str(error):
            return _fail(error, 1)
        raise


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        code = _run(arguments)
    if code == 130:
        print(file=sys.stderr)
    sys.exit(code)
