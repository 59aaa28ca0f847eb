"""A model's document and a key in, the signed document out; and back: whose signatures fit it.

What is signed is the document without its signatures, as JSON of sorted keys: how the file is laid out does not matter,
every number in it does. Ed25519, by the package ``cryptography``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pysirus._parameters import ParameterError
from pysirus._text.format import one_line


class Signed(NamedTuple):
    """A signature: whose, when, with which key, what it stands for, and whether it fits the document."""

    by: str
    date: str
    public_key: str
    note: str | None
    fits: bool

    def __str__(self) -> str:
        note = f" ({one_line(self.note)})" if self.note else ""
        who = f"signed by {one_line(self.by)} on {one_line(self.date)}{note}, key {self.public_key}"
        return who if self.fits else f"NOT VALID: {who}; the file was changed after it was signed"


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ImportError("Signatures need cryptography: pip install pysirus[sign].") from error
    return serialization, ed25519


def signed_bytes(document: Mapping[str, Any]) -> bytes:
    """What is signed of a document."""
    facts = {name: value for name, value in document["facts"].items() if name != "signatures"}
    return json.dumps({**document, "facts": facts}, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def sign(document: Mapping[str, Any], key_file: Path, *, by: str, date: str, note: str | None = None) -> dict[str, Any]:
    """The document with one more signature."""
    serialization, ed25519 = _library()
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
    own = {
        "by": by,
        "date": date,
        "public_key": base64.b64encode(key.public_key().public_bytes(*raw)).decode(),
        "signature": base64.b64encode(key.sign(signed_bytes(document))).decode(),
        **({} if note is None else {"note": note}),
    }
    facts = document["facts"]
    return {**document, "facts": {**facts, "signatures": [*facts.get("signatures", ()), own]}}


def signatures(document: Mapping[str, Any]) -> list[Signed]:
    """The signatures of a document, and whether each fits it."""
    found = document["facts"].get("signatures", ())
    if not found:
        return []
    _, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    told = []
    for own in found:
        try:
            key = ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(own["public_key"]))
            key.verify(base64.b64decode(own["signature"]), signed_bytes(document))
            fits = True
        except (InvalidSignature, ValueError):
            fits = False
        told.append(Signed(own["by"], own["date"], own["public_key"], own.get("note"), fits))
    return told


def public_key_of(key_file: Path) -> str:
    """The public key in a PEM file, in base64, as signatures name it."""
    serialization, _ = _library()
    content = key_file.read_bytes()
    try:
        key: Any = serialization.load_pem_public_key(content)
    except ValueError as error:
        raise ParameterError(f"'{key_file}' is no public key in PEM form.") from error
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    return base64.b64encode(key.public_bytes(*raw)).decode()
