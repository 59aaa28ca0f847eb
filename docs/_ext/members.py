"""What the reference shows of classes that have more methods than their users need, and links out of docstrings."""

import re

from sphinx.application import Sphinx

PREDICT = "predict predict_proba decision_function predict_survival_function predict_cumulative_hazard_function"
JUDGE = "score metrics coverage explain reasons nearest_change feature_importance text"
CHANGE = "without adding with_rules with_reasons decide widget"
USE = "save export report predict_to rows monitor with_reference refit card diff"
ABOUT = "rules_ link classes columns target mean positive_class decision_rule out_of_fold"
FRAME = "to_frame to_dict"
MEMBERS = {
    "RuleModel": f"{PREDICT} {JUDGE} {CHANGE} {USE} {ABOUT}",
    "RuleSet": "text to_frame html",
    "Rule": "condition_text features holds",
    "Condition": "holds",
    "Split": "",
    "LinearTerm": "contributions",
    "Stability": f"measures {FRAME}",
    "Evidence": FRAME,
    "Alternatives": "front to_frame",
    "Score": "to_dict",
    "GroupMetrics": f"differences {FRAME}",
    "Coverage": "pairs contradictions to_frame",
    "Explanation": f"prediction centred raw {FRAME}",
    "Reasons": f"scores rest {FRAME}",
    "NearestChange": "to_dict",
    "Monitoring": f"{FRAME} to_html",
    "Refit": "verdict to_dict",
    "Diff": "is_same summary to_dict",
    "Card": "save to_markdown to_html",
    "TuningPath": "to_frame",
    "IntervalCoverage": "share short to_frame",
    "DataError": "",
    "ModelFileError": "",
    "RuleTextError": "",
    "DownloadError": "",
}
PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")


def link_pages(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """A page that a docstring names by its file is a link."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", link_pages, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
