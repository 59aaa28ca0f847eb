"""A name and bytes in, a file out, as a whole or not at all: everything that writes a file for the user writes it here.

The bytes go to a temporary name beside the file, which is then moved into its place. Links are followed and the mode of
a file is kept. Devices, pipes and open descriptors (``/dev/stdout``) are written to as streams: nothing there may be
moved away. ``check_output`` says what stands in the way before the work is done.
"""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from pysirus._text.format import one_line

PathLike = str | os.PathLike[str]

MODEL, PARQUET = "a model file", "a Parquet file"  # what is replaced only by its own kind
DOCUMENT = "a document"  # a report or an export, which replaces no table
TABLES = (".csv", ".tsv", ".parquet", ".xls", ".xlsx")
_DESCRIPTORS = re.compile(r"/dev/fd|/proc/(\d+|self|thread-self)(/task/\d+)?/fd")
_MAX_LINKS = 40


class WrittenText(str):
    """The text of a file, which shows as where it is and how large."""

    path: Path | None = None
    what: str = "text"

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.encode())

    def __repr__(self) -> str:
        return _short(self.what, self.path, self.size)


class WrittenBytes(bytes):
    """The bytes of a file, which show as where it is and how large."""

    path: Path | None = None
    what: str = "bytes"

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self)

    def __repr__(self) -> str:
        return _short(self.what, self.path, self.size)


def written(content: str | bytes, what: str, path: PathLike | None) -> Any:
    """The content of a file, as something that shows short at a prompt."""
    found = WrittenText(content) if isinstance(content, str) else WrittenBytes(content)
    found.what, found.path = what, None if path is None else Path(path)
    return found


def _short(what: str, path: Path | None, size: int) -> str:
    shown = f"{size} bytes" if size < 1000 else f"{size / 1e3:.1f} kB" if size < 10**6 else f"{size / 1e6:.1f} MB"
    return one_line(f"<{what}{'' if path is None else f' in {path}'}, {shown}>")


def check_name(path: PathLike) -> None:
    """Complain about text that cannot be the name of a file."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise FileNotFoundError(
            f"'{one_line(os.fspath(path))}' cannot be the name of a file: no valid Unicode."
        ) from error


def check_output(path: PathLike, inputs: Sequence[PathLike] = (), kind: str | None = None) -> None:
    """Complain, before the work, about a file that cannot or must not be written.

    ``inputs`` are files that the work reads. ``kind`` is what will be written: a model or a Parquet file, which may be
    all that is left of the rows or the rules, is not replaced by anything else. A model replaces nothing but a model,
    and a document no file that is named like a table.
    """
    check_name(path)
    shown, place = one_line(os.fspath(path)), _follow(path)
    folder = one_line(str(place.parent))
    if place.is_dir():
        raise IsADirectoryError(f"'{shown}' is a folder. Give the name of a file.")
    if _is_descriptor(place) and not place.exists():
        raise FileNotFoundError(f"'{shown}' is not open.")
    if place.parent.exists() and not place.parent.is_dir():
        raise NotADirectoryError(f"'{folder}' is not a folder, so that nothing can be written into it.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"There is no folder '{folder}' to write '{one_line(place.name)}' into.")
    if place.is_file() and any(_is_same(place, input) for input in inputs):
        raise FileExistsError(f"'{shown}' is an input, and writing there would destroy it. Give another name.")
    if _is_descriptor(place):
        return
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(f"'{shown}' is read-only. Give another name, or allow writing to it.")
    if _is_stream(place):
        return
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"The folder '{folder}' does not allow writing. Give a file in another one.")
    found = _kind_of_file(place)
    if found is None and _is_lost(place, kind):
        found = "a table" if place.suffix.lower() in TABLES else "no model file"
    if found is not None and found != kind:
        raise FileExistsError(f"'{shown}' is {found}, and writing there would destroy it. Give another name.")


def write_bytes(path: PathLike, content: bytes) -> None:
    """Write a file as a whole or not at all."""
    check_output(path, kind=_kind(content))
    place = _follow(path)
    try:
        if _is_stream(place):
            _write_stream(place, content)
        else:
            _replace(place, content)
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None  # not the temporary name, and never no name
        raise


def write_text(path: PathLike, text: str) -> None:
    """The same for text, in UTF-8."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        found = text[max(0, error.start - 20) : error.end + 20]
        raise ValueError(f"The text for '{one_line(os.fspath(path))}' is no valid Unicode: {found!r}.") from error
    write_bytes(path, content)


@contextmanager
def writing(path: PathLike) -> Iterator[BinaryIO]:
    """Something to write to in pieces; the file is written at the end, unless the work failed."""
    buffer = io.BytesIO()
    yield buffer
    write_bytes(path, buffer.getvalue())


@contextmanager
def streaming(path: PathLike, inputs: Sequence[PathLike] = (), kind: str | None = None) -> Iterator[BinaryIO]:
    """The same for pieces that memory does not hold together: they go to the disk as they come."""
    check_output(path, inputs, kind)
    place = _follow(path)
    if _is_stream(place):
        with writing(path) as buffer:
            yield buffer
        return
    with _replacing(place) as file:
        yield file


def _follow(path: PathLike) -> Path:
    """Where links lead. A descriptor is not followed: what it is open on has a place of its own in it."""
    place = Path(path)
    for _ in range(_MAX_LINKS):
        place = Path(os.path.realpath(place.parent)) / place.name
        if _is_descriptor(place) or not place.is_symlink():
            return place
        place = place.parent / place.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def _is_descriptor(place: Path) -> bool:
    return _DESCRIPTORS.fullmatch(str(place.parent)) is not None and place.name.isdigit()


def _is_stream(place: Path) -> bool:
    return _is_descriptor(place) or (place.exists() and not place.is_file())


def _is_same(place: Path, other: PathLike) -> bool:
    with suppress(OSError):
        return place.samefile(other)
    return False


def _is_lost(place: Path, kind: str | None) -> bool:
    """Whether a file that is there, and not empty, holds something else than what will be written."""
    if kind not in (MODEL, DOCUMENT) or not place.is_file() or not place.stat().st_size:
        return False
    return kind == MODEL or place.suffix.lower() in TABLES


def _kind(content: bytes) -> str | None:
    if content.startswith(b"PAR1"):
        return PARQUET
    return MODEL if re.match(rb'\s*\{\s*"format":\s*"pysirus-model"', content[:256]) else None


def _kind_of_file(place: Path) -> str | None:
    try:
        with place.open("rb") as file:
            return _kind(file.read(256))
    except OSError:  # not there, or not ours to read
        return None


def _write_stream(place: Path, content: bytes) -> None:
    for stream in (sys.stdout, sys.stderr):  # what was printed before comes before
        if stream is not None:
            stream.flush()
    own = _is_descriptor(place) and str(place.parent) in ("/dev/fd", f"/proc/{os.getpid()}/fd")
    # a descriptor is not opened again, which would begin at the start of its file
    with os.fdopen(os.dup(int(place.name)), "wb") if own else place.open("ab") as file:
        file.write(content)


def _replace(place: Path, content: bytes) -> None:
    with _replacing(place) as file:
        file.write(content)


@contextmanager
def _replacing(place: Path) -> Iterator[BinaryIO]:
    """A temporary file that takes the place of another, unless the work fails."""
    temporary = place.with_name(f".pysirus-{secrets.token_hex(8)}.part")  # short, however long the name is
    is_new = not place.exists()
    try:
        # the kernel takes the umask off; asking for the umask would change it for all threads
        opener = partial(os.open, mode=0o666 if is_new else 0o600)
        with open(temporary, "xb", opener=opener) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # or a power cut may leave the new name with nothing in it
        if not is_new:
            _copy_rights(place, temporary)
        _move(temporary, place)
        _sync_folder(place.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too, where a folder can be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _move(temporary: Path, place: Path) -> None:
    try:
        temporary.replace(place)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        shutil.copyfile(temporary, place)  # mounted by itself, as in a container: it has no other place


def _copy_rights(old: Path, new: Path) -> None:
    """Mode, and as far as they may be given: owner, group and access lists."""
    found = old.stat()
    with suppress(OSError, AttributeError):
        os.chown(new, found.st_uid, found.st_gid)
    with suppress(OSError, AttributeError):
        for name in os.listxattr(old):
            os.setxattr(new, name, os.getxattr(old, name))
    new.chmod(stat.S_IMODE(found.st_mode))
