"""MathJax comes with the pages: the files of the package sphinx-mathjax-offline are copied, none is fetched."""

import importlib.util
import shutil
from pathlib import Path

from sphinx.application import Sphinx

# the folder of the package has hyphens, so that it is found, not imported
FOLDER = "sphinx-mathjax-offline"


def find() -> Path:
    """The folder that holds MathJax."""
    found = importlib.util.find_spec(FOLDER)
    if found is None or found.origin is None:
        raise ImportError(f"The site needs MathJax from {FOLDER}: pip install pysirus[docs].")
    return Path(found.origin).parent / "static" / "mathjax"


def copy(app: Sphinx, error: Exception | None) -> None:
    """Put the one script that pages load, and its fonts, beside them."""
    if error is None and app.builder.format == "html":
        to = Path(app.outdir) / "_static" / "mathjax"
        to.mkdir(parents=True, exist_ok=True)
        shutil.copy(find() / "tex-chtml.js", to)
        shutil.copytree(find() / "output" / "chtml" / "fonts", to / "output" / "chtml" / "fonts", dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    find()
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
