"""A text file of names and pages of other projects in, the inventories that intersphinx reads out.

Inventories as other projects publish them have ten thousand names each, and are fetched anew; ours hold the names that
our pages use, as text that can be read and reviewed.
"""

import zlib
from pathlib import Path

HEAD = (
    "# Sphinx inventory version 2\n# Project: {name}\n# Version:\n"
    "# The remainder of this file is compressed using zlib.\n"
)


def read(path: Path) -> dict[str, tuple[str, list[str]]]:
    """The address of each project, and its lines ``name role page``."""
    projects: dict[str, tuple[str, list[str]]] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            name, address = line.strip("[]").split(" ", 1)
            projects[name] = (address, [])
        elif line and not line.startswith("#"):
            projects[name][1].append(line)
    return projects


def write(path: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project, and give intersphinx's mapping."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for name, (address, lines) in read(path).items():
        entries = []
        for line in lines:
            target, role, page = line.split()
            entries.append(f"{target} {role} 1 {page} -\n")
        file = folder / f"{name}.inv"
        file.write_bytes(HEAD.format(name=name).encode() + zlib.compress("".join(entries).encode()))
        mapping[name] = (address, str(file))
    return mapping
