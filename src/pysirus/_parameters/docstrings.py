"""An estimator in, its docstring out with all parameters and the attributes that estimators share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from inspect import cleandoc
from textwrap import fill, indent
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


def document(cls: type) -> str:
    """The section of an estimator's docstring on its parameters."""

    def entry(own: Field[Any]) -> str:
        kind = own.metadata["kind"].split(", default=")[0].removesuffix(", optional")
        default = "optional" if own.default is None else f"default={own.default!r}".replace("'", '"')
        text = fill(own.metadata["help"], 112, break_long_words=False, break_on_hyphens=False)
        return f"{own.name} : {kind}, {default}\n{indent(text, '    ')}"

    return "\n".join(["Parameters", "----------", *map(entry, fields(cls))])


# attributes that estimators share: name -> type, meaning
GROWN = {
    "n_trees_": ("int", "Number of trees grown."),
    "n_stages_": ("int", "Number of stages in the list; 1 where it has no corrections."),
    "device_": ("str", "Where the trees were grown: 'cpu' or 'gpu'."),
    "idle_columns_": (
        "dict",
        "Columns that add nothing to the forest, and why: constant, all missing, or identical to another column.",
    ),
    "candidates_": ("RuleSet", "Every path of the forest, before post-treatment."),
}
FITTED = {
    "model_": ("RuleModel", "The fitted model, which can be saved, explained and exported without the estimator."),
    "feature_importances_": ("ndarray of float", "The importance of each feature; they sum to 1."),
    "n_features_in_": ("int", "Number of columns."),
    "feature_names_in_": ("ndarray of str", "Column names, if the table had names."),
}


def _entries(attributes: Mapping[str, tuple[str, str]]) -> str:
    return "\n".join(f"{name} : {kind}\n    {meaning}" for name, (kind, meaning) in attributes.items())


def documented(cls: Class) -> Class:
    """Put the parameters of an estimator into its docstring, and what all of its kind have after ``fit``.

    They go where it says ``{parameters}``, ``{grown}`` (what is known of the forest) and ``{fitted}``.
    """
    # as Python 3.13 keeps it, without the indentation of the class
    text = cleandoc(cls.__doc__ or "").replace("{parameters}", document(cls))
    cls.__doc__ = text.replace("{grown}", _entries(GROWN)).replace("{fitted}", _entries(FITTED))
    return cls
