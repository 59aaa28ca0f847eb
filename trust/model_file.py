"""The spec of the model file in, its JSON Schema and the tables of docs/model-file.md out.

Run ``python -m trust.model_file`` after a change of ``src/pysirus/_model/spec.py`` or of a record that it refers to.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pysirus._model.keys import RECORDS, keys_of, summary
from pysirus._model.spec import DOCUMENT, VERSIONS

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "src/pysirus/model.schema.json"
PAGE = ROOT / "docs/model-file.md"
BEGIN, END = "<!-- written by python -m trust.model_file -->\n", "<!-- end -->\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of a model file."""
    definitions: dict[str, Any] = {}
    own = DOCUMENT.schema(definitions)
    title = f"pysirus model, versions {VERSIONS[0]} to {VERSIONS[-1]}"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **own, "$defs": definitions}


def schema_text() -> str:
    """The same as a file has it."""
    return json.dumps(schema(), indent=1) + "\n"


def _table(cls: type) -> str:
    """The keys of a record."""
    lines = ["| key | value | meaning |", "|---|---|---|"]
    for name, key in keys_of(cls).items():
        when = "" if key.required else ", optional"
        lines.append(f"| `{name}`{when} | {key.kind.short} | {key.description} |")
    return "\n".join(lines)


def reference() -> str:
    """All records: that of the document, then those that it refers to."""
    names = [name for name in schema()["$defs"] if name in RECORDS]
    document = RECORDS[DOCUMENT.name]
    parts = [f"{summary(document)}\n\n{_table(document)}\n"]
    parts += [f"### {name}\n\n{summary(RECORDS[name])}\n\n{_table(RECORDS[name])}\n" for name in names]
    return "\n".join(parts)


def page_text(page: str) -> str:
    """The page with its tables as the spec says them."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{reference()}\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    PAGE.write_text(page_text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
