"""The code in, the pages of the reference that say what it says out: the command line, the parameters."""

import re
import warnings
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import pysirus

FOLDER = "reference/generated"
ESTIMATORS = ("SirusRegressor", "SirusClassifier", "SirusSurvival")


def cell(text: str) -> str:
    """Text as a cell of a table."""
    return re.sub(r"\s+", " ", text).strip().replace("|", r"\|")


def words(text: str) -> str:
    """Text in which only what stands in backticks is code: a `<` begins no tag."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", r"\<") for part in parts)


def code(text: str) -> str:
    """Text as code in a cell."""
    return f"`{cell(text)}`" if text else ""


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def plain(text: str) -> str:
    """Help without the marks of rich, its examples as code."""
    without = words(re.sub(r"\[/?(bold|dim)\]", "", text))
    return re.sub(r"^([A-Z][\w ]*): (pysirus .+)$", r"\1: `\2`", without, flags=re.MULTILINE)


# ---------------------------------------------------------------------------------------------------- the command line


def default_of(option: Any) -> str:
    """The default as the help shows it."""
    shown = option.show_default and option.default not in (None, False, ()) and not callable(option.default)
    return str(option.default) if shown else ""


def option_row(option: Any) -> list[str]:
    """What the help says of an option."""
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len, reverse=True))
    metavar = f" {cell(option.metavar)}" if option.metavar else ""
    return [names + metavar, cell(plain(option.help or "")), code(default_of(option))]


def command_section(name: str, command: Any) -> str:
    """One command: usage, description, arguments, and options by group."""
    import typer

    context = typer.Context(command, info_name=f"pysirus {name}")
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    parts = [f"## pysirus {name}\n\n```text\n{usage}\n```\n\n{plain(command.help or '')}\n"]
    groups: dict[str, list[Any]] = {}
    for own in command.get_params(context):
        if own.param_type_name == "argument":
            groups.setdefault("Arguments", []).append(own)
        elif not own.hidden:
            groups.setdefault(getattr(own, "rich_help_panel", None) or "Options", []).append(own)
    for group, options in groups.items():
        if group == "Arguments":
            rows = [[f"`{own.metavar or own.name.upper()}`", cell(plain(own.help or ""))] for own in options]
            parts.append(table([group, ""], rows))
        else:
            parts.append(table([group, "", "default"], [option_row(own) for own in options]))
    return "\n".join(parts)


def command_page() -> str:
    """The page of all commands, from the same objects that print ``--help``."""
    import typer

    from pysirus import cli  # noqa: F401, which adds the commands
    from pysirus.cli._options import EXIT_CODES, app

    group = typer.main.get_command(app)
    sections = [command_section(name, command) for name, command in group.commands.items()]  # type: ignore[attr-defined]
    codes = table(["code", "meaning"], [[str(code), cell(meaning)] for code, meaning in EXIT_CODES.items()])
    return (
        "# Command line\n\nThis page is written from the same objects that print `pysirus COMMAND --help`. "
        "[The command line in scripts and jobs](../../command-line.md) explains output and exit codes.\n\n"
        + "\n".join(sections)
        + f"\n## Exit codes\n\n{codes}"
    )


# ------------------------------------------------------------------------------------------------------- the parameters

TITLES = {
    "ListSize": "Length of the list",
    "Folds": "Tuning",
    "Growing": "Forest, columns and rows",
    "Constraining": "Constraints",
    "ClassWeight": "Class weights",
    "PositiveClass": "Positive class",
    "Weighting": "Weighting of classes",
    "Loss": "Loss",
    "Event": "Events",
    "Stages": "Stages and slopes",
    "Running": "Running",
}


def takers(name: str) -> str:
    """For which estimators a parameter is, as a sentence; nothing where all take it."""
    with_cv = [each for base in ESTIMATORS for each in (base, f"{base}CV")]
    taking = [each for each in with_cv if any(own.name == name for own in fields(getattr(pysirus, each)))]
    if len(taking) == len(with_cv):
        return ""
    if taking == [each for each in with_cv if each.endswith("CV")]:
        return "For estimators with `CV` in their name."
    if taking == list(ESTIMATORS):
        return "For estimators without `CV` in their name."
    shared = [base for base in ESTIMATORS if {base, f"{base}CV"} <= set(taking)]
    return f"For {' and '.join(f'`{base}`' for base in shared)}, with and without `CV`."


def default_text(own: Any) -> str:
    """The default of a parameter."""
    return "" if own.default is MISSING else code(repr(own.default).replace("'", '"'))


def parameter_page() -> str:
    """All parameters of the estimators, by group."""
    from pysirus._parameters.table import GROUPS

    parts = [
        "# Parameters\n\nAll parameters of the estimators, in groups, with the option of the command line that sets "
        "them. The page is written from the table of parameters that checks them.\n"
    ]
    for group in GROUPS:
        takes = {own.name: takers(own.name) for own in fields(group)}
        shared = set(takes.values())
        head = shared.pop() if len(shared) == 1 else ""  # said once, above the table
        rows = []
        for own in fields(group):
            option = own.metadata["option"]
            text = cell(words(own.metadata["help"].replace("``", "`")))
            names = f"`{own.name}`" + (f"<br>`{option.name}`" if option else "")
            kind = own.metadata["kind"].split(", default")[0].removesuffix(", optional")
            takes_own = "" if head else takes[own.name]
            rows.append([names, f"{code(kind)}<br>{default_text(own)}", f"{text} {takes_own}".strip()])
        title = TITLES.get(group.__name__, group.__name__)
        parts.append(f"## {title}\n\n{head}\n\n{table(['parameter, option', 'type, default', 'meaning'], rows)}")
    return "\n".join(parts)


PAGES = {"command-line.md": command_page, "parameters.md": parameter_page}


def write(app: Sphinx) -> None:
    """Write the pages, those that changed."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        text = page()
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    # what warns in an example has its place there; a library that warns about itself does not
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="(?!pysirus)")
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
