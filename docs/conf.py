"""How Sphinx builds the site: ``make docs``, or ``make docs-quick`` with three examples of the gallery.

The build needs no network: names of other projects are linked by ``inventories.txt``, and MathJax comes with the pages.
"""

import os
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))

import inventories  # noqa: E402
import members  # noqa: E402

import pysirus  # noqa: E402

# three examples run where time is short: one of each kind of target
QUICK = os.environ.get("PYSIRUS_DOCS") == "quick"
QUICK_EXAMPLES = ("plot_energy", "plot_wine", "plot_hospital")

project = "pysirus"
author = "The pysirus developers"
copyright = f"{date.today().year}, {author}"
version = release = pysirus.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "generated",
    "members",
    "offline_math",
    "repository",
]
exclude_patterns = [
    "gallery/sg_execution_times.rst",
    "sg_execution_times.rst",
    "gallery/*.ipynb",
    "gallery/**/*.ipynb",
    "_templates",
]
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which Sphinx cannot pickle

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autosummary_context = {"shown": {name: ", ".join(own.split()) for name, own in members.MEMBERS.items()}}
autosummary_filename_map = {"pysirus.stability": "pysirus.stability-function"}  # beside pysirus.Stability on any disk
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections have the types
templates_path = ["_templates"]
numpydoc_show_class_members = False
numpydoc_use_plots = True  # the pictures of examples that draw
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # what has no page is text
intersphinx_mapping = inventories.write(HERE / "inventories.txt", ROOT / "build" / "inventories")

plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 144)]
plot_rcparams = {"figure.figsize": (7, 3.6), "figure.autolayout": True, "font.size": 10}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": "|".join(QUICK_EXAMPLES) if QUICK else r"plot_",
    "doc_module": ("pysirus",),
    "backreferences_dir": "reference/generated/examples",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "capture_repr": ("_repr_html_",),  # what a plot returns is no output
    "min_reported_time": 1e9,
    "download_all_examples": False,
    "write_computation_times": False,
    "plot_gallery": True,
    "thumbnail_size": (420, 280),
}

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}  # light or dark as the browser asks
html_title = "pysirus"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "gallery/**": ["sidebar-nav-bs"]}
html_theme_options = {
    "logo": {"text": "pysirus", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "github_url": "https://github.com/pysirus/pysirus",
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "article_header_start": ["breadcrumbs"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
