"""What a person must say about a model, asked for in one TOML file: its keys, a blank to fill in, and its reader."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

from pysirus._parameters import ParameterError
from pysirus._text.format import one_line

# section -> key -> what the question is called, and what to write
QUESTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "purpose": {
        "use": ("Intended use", "Which decision the model supports, and who takes it."),
        "not_for": ("Not for", "Uses that it was not built or tested for."),
        "benefit": ("Why a model", "What is done without it, and what it is to improve."),
    },
    "population": {
        "who": ("Who is scored", "People or things, place, time, and how they come to be scored."),
        "representative": ("Representativeness", "How the training rows differ from those that will be scored."),
    },
    "data": {
        "source": ("Source", "Systems, files or studies that the rows come from, and the query."),
        "period": ("Period", "The dates of the rows, and of the target."),
        "target": ("How the target was recorded", "Its definition, who records it, and how long after the features."),
        "features": (
            "Definition of features",
            "What each one means, its unit, and when it is measured.",
        ),
        "preparation": ("Preparation", "Rows and columns that were left out, joins, corrections, imputation."),
        "rights": ("Rights and consent", "The legal basis, consent or licence for this use of the data."),
    },
    "method": {
        "alternatives": ("Alternatives", "What else was tried, and why this was chosen."),
        "expert_review": ("Expert review", "Who read the rules, and which directions or rules they questioned."),
    },
    "evidence": {
        "other_rows": ("Where the other rows come from", "Source and dates of the test rows; how they differ."),
        "metrics": ("Choice of metrics", "Which of them count for this use, and what an error costs."),
        "out_of_time": ("Out-of-time test", "Result on rows from after the training period."),
        "independent": ("Independent replication", "Who repeated the fit, when, and with which result."),
        "deployed_code": ("Deployed code", "How the code in production was compared with the model."),
    },
    "groups": {
        "protected": ("Protected groups", "Which groups were looked at, and why these."),
        "acceptable": ("Acceptable differences", "Which difference between groups is accepted, and by whom."),
        "proxies": ("Proxies", "Features that may stand for a protected attribute, and what was decided."),
    },
    "limits": {
        "known": ("Known limits", "Where the model is known to be wrong or untested."),
        "oversight": ("Human oversight", "Who may override a decision, and how often they do."),
        "risks": ("Risks", "What happens to whom when it is wrong."),
    },
    "monitoring": {
        "schedule": ("Schedule", "How often new rows are compared, and by which job."),
        "limits": ("Limits and triggers", "Which results raise an alarm, and at which numbers."),
        "action": ("Action", "Who does what after an alarm; what is used instead of the model."),
        "review": ("Next review", "The date of the next review."),
    },
    "owner": {
        "name": ("Owner", "The person who answers for the model."),
        "contact": ("Contact", "How to reach them."),
        "version": ("Version and date", "How this version is called, and since when it is in use."),
        "developer": ("Developer", "Who built it."),
        "validator": ("Validator", "Who checked it, independently of the developer."),
        "approved": ("Approval", "Who approved it, for which use, until when."),
    },
}

NONE = "none that we know"
VALIDATION = "model validation and monitoring: "
DEVELOPMENT, GOVERNANCE = "model development and model use", "governance and controls"
# sections of the card -> where each document treats them
CROSSWALK = (
    ("Purpose; Owner", f"{DEVELOPMENT}; {GOVERNANCE}", "1(a)", "3a, 3b"),
    ("Population; Data", DEVELOPMENT, "2(d)", "5a, 5b, 6a, 6b, 7, 8a, 9a, 9b, 20a, 20b"),
    ("Method; Rules", f"{VALIDATION}conceptual soundness", "1(c), 2(a), 2(b)", "12c, 15, 22"),
    ("Evidence", f"{VALIDATION}outcomes analysis", "2(g), 4", "12e, 16, 21, 23a"),
    ("Groups", NONE, "2(g), 3", "3c, 14, 23a, 23b"),
    ("Limits", DEVELOPMENT, "2(e), 3, 5", "26, 27b"),
    ("Monitoring plan", f"{VALIDATION}ongoing monitoring", "9", NONE),
    ("Changes and signatures", GOVERNANCE, "2(g), 6", "12f, 24"),
)
SOURCES = (
    "SR 26-2: Revised Guidance on Model Risk Management, Federal Reserve, FDIC and OCC, 17 April 2026; by heading. The "
    "headings are those that OCC Bulletin 2026-13 names; we checked the parts of validation against quotations, and "
    "did not have the full text. Its part on products of third parties, such as this library, is not covered.",
    "Annex IV of Regulation (EU) 2024/1689 (AI Act); by point. Points 1(b), 1(d) to 1(h), 2(c), 2(f), 2(h), 7 and 8 "
    "(hardware, forms of delivery, instructions for use, architecture, planned changes, cybersecurity, standards, "
    "declaration of conformity) are not covered, and of point 5 (risk management) only what Limits asks.",
    "TRIPOD+AI: Collins and others, BMJ 2024;385:e078378; by item. Items that are not listed, such as 10 (sample "
    "size), 11 (missing data), 17 (ethics), 18 (open science) and 27a (poor input data), are not covered.",
    "This table says where to look. An item may ask for more than the section has. It claims no compliance with any of "
    "them.",
)


def template() -> str:
    """The blank: every key with what to write."""
    lines = [
        "# What only a person can say about a model: the answers that its model card asks for.",
        "# Fill in what you know. What stays empty is marked 'not stated' on the model card.",
    ]
    for section, questions in QUESTIONS.items():
        lines += ["", f"[{section}]"]
        for key, (_, wanted) in questions.items():
            lines += [f"# {wanted}", f'{key} = ""']
    return "\n".join(lines) + "\n"


def read_about(given: Mapping[str, Any] | str | os.PathLike[str] | None) -> dict[str, dict[str, str]]:
    """The answers by section and key; those that are empty are left out, and what was not asked is an error."""
    if given is None:
        return {}
    answers = given if isinstance(given, Mapping) else _load(Path(given))
    found: dict[str, dict[str, str]] = {}
    for section, own in answers.items():
        if section not in QUESTIONS:
            raise ParameterError(
                f"about has the section {_shown(section)}, which is not known. Sections are: {', '.join(QUESTIONS)}."
            )
        if not isinstance(own, Mapping):
            raise ParameterError(
                f"about: '{section}' must be a section with keys, such as [{section}], got {_shown(own)}."
            )
        for key, value in own.items():
            if key not in QUESTIONS[section]:
                known = ", ".join(QUESTIONS[section])
                raise ParameterError(
                    f"about: [{section}] has the key {_shown(key)}, which is not known. Keys are: {known}."
                )
            if text := _text(f"{section}.{key}", value).strip():
                found.setdefault(section, {})[key] = text
    return found


def _shown(value: Any) -> str:
    return one_line(repr(value))[:60]


def _text(place: str, value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(_text(place, own) for own in value)
    if isinstance(value, (str, int, float, date, time)) and not isinstance(value, bool):
        return str(value)
    raise ParameterError(f"about: {place} must be a text, a number, a date or a list of these, got {_shown(value)}.")


def _load(path: Path) -> Mapping[str, Any]:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        try:
            import tomli as tomllib  # type: ignore[no-redef, import-not-found, unused-ignore]
        except ImportError as error:
            raise ImportError("TOML files need Python 3.11 or tomli: pip install tomli.") from error
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"'{path}' is no TOML file: {error}") from error
