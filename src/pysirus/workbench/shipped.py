"""A session in, what leaves it out: a signature, files in every format, all of them in one archive."""

from __future__ import annotations

import io
import os
import zipfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pysirus._model.file import read_document, write_document
from pysirus._parameters import ParameterError
from pysirus._text.message import say
from pysirus._use.verify import sign, signatures
from pysirus.export import FORMATS, ExportError
from pysirus.workbench.recorded import Step, command
from pysirus.workbench.session import Session

# what is offered, by the ending of its file: formats of `export`, and what is no export
FILES = {
    "model": ".json",
    "report": ".report.html",
    "excel": ".xlsx",
    "sql": ".sql",
    "python": ".py",
    "javascript": ".js",
    "scorecard": ".scorecard.html",
    "markdown": ".md",
    "pmml": ".pmml",
    "onnx": ".onnx",
    "card": ".card.md",
    "script": ".steps.py",
    "commands": ".steps.sh",
}


def new_key() -> bytes:
    """A new private key of Ed25519 in PEM form, for those who have none."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise ImportError("Signatures need cryptography: pip install pysirus[sign].") from error
    forms = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return bytes(Ed25519PrivateKey.generate().private_bytes(*forms))


def signed(session: Session, by: str, key: bytes, note: str | None = None) -> dict[str, Any]:
    """Sign the list as it is now; another edit takes the signature off."""
    if not by.strip():
        raise ParameterError("Say who signs.")
    path, file = session.folder / "signed.json", session.folder / "key.pem"
    session.save(path)
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
            opened.write(key)
        date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        document = sign(read_document(path), file, by=by.strip(), date=date, note=note or None)
    finally:
        file.unlink(missing_ok=True)
    write_document(path, document)
    words = ["--by", by.strip(), "--key", "key.pem", *(["--note", note] if note else [])]
    code = Step("sign", "", command("sign", session.model_name, *words))
    session.signed = {"document": document, "code": code}
    return {"signatures": [str(own) for own in signatures(document)], "code": code._asdict()}


def offered(session: Session) -> list[str]:
    """The files that can be had of this list."""
    is_card = session.model.classes is not None and len(session.model.classes) == 2
    known = {"model", "report", "script", "commands", *FORMATS, *(["card"] if hasattr(session.model, "card") else [])}
    return [name for name in FILES if name in known and (name != "scorecard" or is_card)]


def file_of(session: Session, what: str) -> tuple[str, bytes]:
    """The name and the content of a file."""
    if what not in FILES:
        raise ParameterError(f"There is no file '{what}'. There are: {', '.join(FILES)}.")
    stem = Path(session.model_name).stem
    content = _content(session, what, session.folder / f"shipped{FILES[what]}")
    return f"{stem}{FILES[what]}", content if isinstance(content, bytes) else content.encode("utf-8")


def _content(session: Session, what: str, path: Path) -> str | bytes:
    if what in ("script", "commands"):
        return session.script()["python" if what == "script" else "shell"]
    if what == "model":
        session.save(path)
        if session.signed is not None:
            write_document(path, session.signed["document"])
        return path.read_bytes()
    model: Any = session.model if session.edits else session.tuned.estimator
    if what == "report":
        X, y, weights = session.tuned.rows
        return str(model.report(None, X, y, sample_weight=weights, data=Path(session.name).name))
    if what == "card":
        return str(model.card())
    options = {"kind": "html"} if what == "scorecard" else {"table": "data"} if what == "sql" else {}
    content = model.export(what, **options)
    return bytes(content) if isinstance(content, bytes) else str(content)


def archive(session: Session) -> tuple[str, bytes]:
    """All files in one archive; what a format cannot say stands in ``NOT-WRITTEN.txt``."""
    content, left = io.BytesIO(), []
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for what in offered(session):
            try:
                file.writestr(*file_of(session, what))
            except (ExportError, ImportError, ParameterError) as error:
                left.append(f"{what}: {say(str(error))}")
        if left:
            file.writestr("NOT-WRITTEN.txt", "\n".join(left) + "\n")
    return f"{Path(session.model_name).stem}.zip", content.getvalue()
