"""Two documents of a model in, the one in the file and the one that a new fit gives, what differs between them out.

Data, settings, version and file are told apart: marks of the training rows, parameters, versions of programs, and what
the new fit, which has the same data and settings, gives for everything else.

What is signed is a document without its signatures, and who signs, when and why, as JSON of sorted keys: how the file
is laid out does not matter, every number in it does, and nobody can put another name or date to a signature. Ed25519,
by the package ``cryptography``.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._model.file import read_document, write_document
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._text.format import html_lines, one_line
from pysirus._text.message import Parameter

LEFT_OUT = (
    "versions",
    "signatures",
    "fingerprint",
    "edits",
)  # facts that are told apart, or not at all
SHOWN = 5
ROUNDING = 1e-12  # of a prediction, that engines may add in another order


@dataclass(frozen=True)
class Verification:
    """Whether a model file is what its data and settings give.

    Attributes
    ----------
    data, settings, version, file : tuple of str
        What differs, in words; nothing where all is as it was.
    """

    data: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    file: tuple[str, ...] = ()

    @property
    def reproduced(self) -> bool:
        """Whether the fit gives the file again, bit for bit."""
        return not (self.data or self.settings or self.file)

    def _lines(self) -> list[str]:
        verdict = "Reproduced, bit for bit." if self.reproduced else "NOT reproduced."
        parts = {"data": self.data, "settings": self.settings, "version": self.version, "file": self.file}
        lines = [f"{name}: {line}" for name, found in parts.items() for line in _few(found)]
        return [verdict, *lines]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return html_lines(*self._lines())

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        parts = {name: list(getattr(self, name)) for name in ("data", "settings", "version", "file")}
        return {"reproduced": self.reproduced, **parts}


def _few(lines: tuple[str, ...]) -> list[str]:
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return [*lines[:SHOWN], *more]


def verify(document: Mapping[str, Any], again: Mapping[str, Any], *, not_repeated: Sequence[str] = ()) -> Verification:
    """Compare the document of a file with that of a new fit on the data that are said to be its own.

    Edits of the file were repeated, but for those that are ``not_repeated``.
    """
    data = tuple(_data(document["facts"].get("fingerprint"), again["facts"].get("fingerprint")))
    version = tuple(_versions(document["facts"].get("versions", {}), again["facts"].get("versions", {})))
    if "fingerprint" not in document["facts"]:
        version = ("the file is of a version that kept no fingerprint of its training rows", *version)
        again = {**again, "facts": {k: v for k, v in again["facts"].items() if k in document["facts"]}}
    changes = [] if data else list(differences(_compared(document), _compared(again), ""))
    file = [f"{where} is {found} in the file and {wanted} in the new fit" for where, found, wanted in changes]
    file = [*(f"an edit could not be repeated: {own}" for own in not_repeated), *file]
    return Verification(data, tuple(_settings(document)), version, tuple(file))


def _settings(document: Mapping[str, Any]) -> Iterator[str]:
    """Settings that are not those of the fit, as far as the facts tell them."""
    given = (document.get("estimator") or {}).get("parameters", {})
    seed = document["facts"].get("seed")
    if isinstance(given.get("random_state"), int) and seed is not None and given["random_state"] != seed:
        yield f"random_state is {given['random_state']}, and the seed of the fit was {seed}"


def _compared(document: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same."""
    facts = {name: value for name, value in document["facts"].items() if name not in LEFT_OUT}
    return {**{name: value for name, value in document.items() if name != "estimator"}, "facts": facts}


def _data(then: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> Iterator[str]:
    """What differs between the marks of two tables."""
    if then is None or now is None:
        return
    names = [[name for name, _ in own["columns"]] for own in (then, now)]
    if then["n_rows"] != now["n_rows"]:
        yield f"{then['n_rows']:,} rows then, {now['n_rows']:,} now"
    if names[0] != names[1]:
        absent, new = (sorted({*a} - {*b}) for a, b in (names, names[::-1]))
        told = f"other columns: without {absent or 'none'}, with {new or 'none'}"
        yield one_line(told) if absent or new else "columns in another order"
    if then["n_rows"] != now["n_rows"]:
        return
    marks = dict(now["columns"])
    for name, mark in then["columns"]:
        if marks.get(name, mark) != mark:
            yield f"column '{one_line(name)}' has other values, or in another order"
    for part, word in (("target", "the target"), ("weights", "the sample weights")):
        if then.get(part) != now.get(part):
            yield f"{word} has other values, or in another order"


def _versions(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys([*then, *now]):
        if then.get(name) != now.get(name):
            yield f"{name} {then.get(name, 'unknown')} then, {now.get(name, 'unknown')} now"


def differences(found: Any, wanted: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """Where two documents differ: the place, and what stands there in each."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in dict.fromkeys([*found, *wanted]):
            inner = f"{place}.{name}" if place else name
            if name not in found or name not in wanted:
                yield inner, "there" if name in found else "absent", "there" if name in wanted else "absent"
            else:
                yield from differences(found[name], wanted[name], inner)
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for i, (a, b) in enumerate(zip(found, wanted)):
            yield from differences(a, b, f"{place}[{i}]")
    elif type(found) is not type(wanted) or found != wanted:
        yield place, one_line(repr(found))[:60], one_line(repr(wanted))[:60]


# ------------------------------------------------------------------------------------------------------ deployed code


@dataclass(frozen=True)
class Deployed:
    """How what deployed code finds compares with what the model finds."""

    n_rows: int
    n_wrong: int
    largest: float  # difference of numbers
    first: str  # the first row that differs, in words
    where: str  # the rule that is wrong in all of them, where there is one
    compared: tuple[str, ...]  # columns
    absent: tuple[str, ...] = ()  # columns that the export adds and the query does not
    changed: tuple[str, ...] = ()  # numbers and texts of the query that are not those of the export

    @property
    def agrees(self) -> bool:
        """Whether no prediction differs, and no number of the query."""
        return not self.n_wrong and not self.changed

    def __str__(self) -> str:
        text = [f"{one_line(own)}." for own in _few(self.changed)]
        what = ", ".join(f"'{one_line(name)}'" for name in self.compared)
        left = ", ".join(f"'{one_line(name)}'" for name in self.absent)
        text += [f"Not compared, as the query does not have them: {left}."] if left else []
        if not self.n_wrong:
            same = f"The query finds what the model finds in all {self.n_rows:,} rows (columns {what})."
            head = "The query is NOT what the model exports, though these rows do not show it. " if self.changed else ""
            return "\n".join([f"{head}{same}", *text])
        where = f" {self.where}" if self.where else ""
        head = f"The query differs from the model in {self.n_wrong:,} of {self.n_rows:,} rows. {self.first}{where}"
        return "\n".join([head, *text])

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {"agrees": self.agrees, **vars(self)}


def compare_columns(
    model: Model, X: Any, found: Mapping[str, NDArray[Any]], wanted: Mapping[str, NDArray[Any]]
) -> Deployed:
    """Compare columns that other code found for some rows with those of the model: classes, probabilities, scores."""
    table = model.align(X)
    compared, absent = (tuple(name for name in wanted if (name in found) is there) for there in (True, False))
    wrong, gaps = np.zeros(table.n_rows, dtype=bool), np.zeros((table.n_rows, len(compared)))
    for k, name in enumerate(compared):
        own, its = wanted[name], found[name]
        if own.dtype.kind == "f":
            gaps[:, k] = np.abs(its.astype(np.float64) - own) / np.maximum(1.0, np.abs(own))
            gaps[np.isnan(gaps[:, k]), k] = np.inf  # where there is no number
            wrong |= gaps[:, k] > ROUNDING
        else:
            other = np.array([str(a) != str(b) for a, b in zip(its.tolist(), own.tolist())])
            gaps[:, k], wrong = np.where(other, np.inf, 0.0), wrong | other
    largest = float(gaps.max(initial=0.0, where=np.isfinite(gaps)))
    if not wrong.any():
        return Deployed(len(wrong), 0, largest, "", "", compared, absent)
    row = int(wrong.argmax())
    name = compared[int(gaps[row].argmax())]
    there, here = (_shown(own[name][row]) for own in (found, wanted))
    first = f"The first is row {row + 1}, '{one_line(name)}': {there} there, {here} here."
    sides = []
    for number, rule in enumerate(model.rules, start=1):
        holds = rule.holds(table)
        if holds.any() and not holds.all() and (np.array_equal(wrong, holds) or np.array_equal(wrong, ~holds)):
            side = "holds" if np.array_equal(wrong, holds) else "does not hold"
            sides.append(f"rule {number} ({one_line(rule.condition_text)}) {side}")
    where = f"They are the rows where {' or '.join(sides)}." if sides else ""
    return Deployed(len(wrong), int(wrong.sum()), largest, first, where, compared, absent)


def _shown(value: Any) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return one_line(f"{float(value):.15g}" if number else str(value))


TOKEN = re.compile(
    r"--[^\n]*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|(?:\d[\w.]*(?:(?<=[eE])[+-]\d+)?)|\w+|[^\w\s]"
)


def changed_literals(query: str, exported: str) -> tuple[str, ...] | None:
    """The numbers and texts of a query that the export writes otherwise; None where more than those differs."""
    found, wanted = ([own for own in TOKEN.finditer(text) if not own[0].startswith("--")] for text in (query, exported))
    found = found[:-1] if found and found[-1][0] == ";" else found
    if len(found) != len(wanted):
        return None
    lines = []
    for own, its in zip(found, wanted):
        if own[0] == its[0]:
            continue
        if own[0][0] not in "'0123456789" or its[0][0] not in "'0123456789":
            return None
        line = query.count("\n", 0, own.start()) + 1
        lines.append(f"Line {line} of the query has {own[0]}, and the export writes {its[0]}")
    return tuple(lines)


# ----------------------------------------------------------------------------------------------------------- signatures


class Signed(NamedTuple):
    """A signature: whose, when, with which key, what it stands for, and whether it fits the document."""

    by: str
    date: str
    public_key: str
    note: str | None
    fits: bool
    is_earlier: bool = False  # of a version whose signatures did not cover name, date and note

    def __str__(self) -> str:
        note = f" ({one_line(self.note)})" if self.note else ""
        who = f"signed by {one_line(self.by)} on {one_line(self.date)}{note}, key {self.public_key}"
        if self.is_earlier:
            return (
                f"NOT VALID: {who}; an earlier version made this signature, which does not cover the name, the date "
                "and the note. The rest of the file was not changed since. Sign it again with pysirus sign"
            )
        return who if self.fits else f"NOT VALID: {who}; the file or the signature was changed after it was signed"


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ImportError("Signatures need cryptography: pip install pysirus[sign].") from error
    return serialization, ed25519


def signed_bytes(document: Mapping[str, Any], own: Mapping[str, Any] | None) -> bytes:
    """What is signed of a document, and of the signature itself: name, date, key and note; None: as it once was."""
    facts = {name: value for name, value in document["facts"].items() if name != "signatures"}
    whole = {**document, "facts": facts}
    if own is not None:
        told = {name: own.get(name) for name in ("by", "date", "public_key", "note")}
        whole = {"model": whole, "signed": told}
    return json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def sign(
    path: str | os.PathLike[str],
    key: str | os.PathLike[str],
    *,
    by: str,
    note: str | None = None,
    date: str | None = None,
    output: str | os.PathLike[str] | None = None,
) -> None:
    """Sign a model file: ``pysirus verify`` then says who signed it, and whether it was changed since.

    Parameters
    ----------
    path : str or path
        The model file.
    key : str or path
        A private key of Ed25519 in PEM form, without a password.
    by : str
        Who signs.
    note : str, optional
        What the signature stands for.
    date : str, optional
        When; now by default.
    output : str or path, optional
        Where to write; by default the same file.

    Examples
    --------
    >>> import pysirus
    >>> pysirus.sign("credit.json", "key.pem", by="A. Smith", note="validated")  # doctest: +SKIP
    """
    date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") if date is None else date
    document = with_signature(read_document(path), Path(key), by=by, date=date, note=note)
    write_document(path if output is None else output, document)


def with_signature(
    document: Mapping[str, Any], key_file: Path, *, by: str, date: str, note: str | None = None
) -> dict[str, Any]:
    """The document with one more signature."""
    serialization, ed25519 = _library()
    if not by.strip():
        raise ParameterError(f"{Parameter('by')} is empty: say who signs.")
    try:
        key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"'{key_file}' is no private key in PEM form without a password. Make one with: openssl genpkey "
            f"-algorithm ed25519 -out {key_file.name}"
        ) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ParameterError(f"'{key_file}' is a key of another kind; signatures take Ed25519.")
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    public = base64.b64encode(key.public_key().public_bytes(*raw)).decode()
    own = {"by": by, "date": date, "public_key": public, **({} if note is None else {"note": note})}
    own["signature"] = base64.b64encode(key.sign(signed_bytes(document, own))).decode()
    facts = document["facts"]
    return {**document, "facts": {**facts, "signatures": [*facts.get("signatures", ()), own]}}


def signatures(document: Mapping[str, Any]) -> list[Signed]:
    """The signatures of a document, and whether each fits it."""
    found = document["facts"].get("signatures", ())
    if not found:
        return []
    told = []
    for own in found:
        fits = _fits(own, signed_bytes(document, own))
        is_earlier = not fits and _fits(own, signed_bytes(document, None))
        told.append(Signed(own["by"], own["date"], own["public_key"], own.get("note"), fits, is_earlier))
    return told


def _fits(own: Mapping[str, Any], signed: bytes) -> bool:
    """Whether a signature is one of these bytes."""
    _, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        key = ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(own["public_key"]))
        key.verify(base64.b64decode(own["signature"]), signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def public_key_of(key_file: Path) -> str:
    """The public key in a PEM file, in base64, as signatures name it."""
    serialization, ed25519 = _library()
    content = key_file.read_bytes()
    try:
        key: Any = serialization.load_pem_public_key(content)
    except ValueError as error:
        wish = f"Make it from a private one with: openssl pkey -in {key_file.name} -pubout"
        raise ParameterError(f"'{key_file}' is no public key in PEM form. {wish}") from error
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise ParameterError(f"'{key_file}' is a key of another kind; signatures take Ed25519.")
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    return base64.b64encode(key.public_bytes(*raw)).decode()
