"""Anything in, whether its rows lie elsewhere than in memory out; an address in, the files there out.

Rows lie elsewhere in files, streams, on Dask or on Spark. An address is such as ``s3://bucket/rows/*.parquet``; every
complaint about a store is made here. pyarrow speaks to S3, Google Cloud Storage, Azure and HDFS; fsspec, where it is
installed, to others. Who is asking is found where their own tools look for it: environment variables, profiles, the
role of the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from pysirus._data.column import DataError

if TYPE_CHECKING:
    from pyarrow import fs


def is_dask(X: Any) -> bool:
    """Whether it is a collection of Dask; Dask is not imported to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def is_spark(X: Any) -> bool:
    """Whether it is a data frame of Spark; Spark is not imported to find out."""
    return type(X).__module__.startswith("pyspark.sql")


def is_path(X: Any) -> bool:
    """Whether it names files: one, a folder or pattern of them, or a list of such."""
    listed = X if isinstance(X, (list, tuple)) and len(X) else [X]
    return all(isinstance(path, (str, os.PathLike)) for path in listed)


def is_dataset(X: Any) -> bool:
    """Whether it is a dataset of pyarrow, whose module is not imported to find out."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(X, module.Dataset)


def is_stream(X: Any) -> bool:
    """Whether rows can be read from it one batch after the other, and it is no table in memory."""
    if isinstance(X, pa.RecordBatchReader) or is_dataset(X):
        return True
    if isinstance(X, (np.ndarray, pa.Table, pa.RecordBatch, pa.ChunkedArray, pa.Array)):
        return False
    try:
        known = nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:  # a frame, whose names are complained of where it is read
        return False
    if isinstance(known, (nw.DataFrame, nw.Series)):
        return False
    return isinstance(known, nw.LazyFrame) or hasattr(X, "__arrow_c_stream__")


def is_elsewhere(X: Any) -> bool:
    """Whether rows lie anywhere but in a table in memory."""
    return not isinstance(X, np.ndarray) and (is_path(X) or is_dask(X) or is_spark(X) or is_stream(X))


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)  # a drive of Windows has one letter
_FLATTENED = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):[/\\]([^/\\].*)", re.DOTALL)  # as a path writes it, with one slash
_MARKS = re.compile(r"[*?\[]")
CONNECT_SECONDS = 10.0

_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket")
_DENIED = re.compile(r"ACCESS_?DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|\b40[13]\b|credentials", re.I)
_NO_HOST = re.compile(r"NETWORK_CONNECTION|Couldn't resolve|Could not (connect|resolve)|timed? ?out", re.I)


def is_remote(name: object) -> bool:
    """Whether a name is an address in a store, and no file of this machine."""
    return isinstance(name, Remote) or (isinstance(name, str) and _ADDRESS.fullmatch(name) is not None)


def remote_output(path: Path) -> Remote | None:
    """The address that a path was made of, if it was one."""
    found = None if path.exists() else _FLATTENED.fullmatch(str(path))
    return None if found is None else remote(f"{found[1]}://{found[2]}")


@dataclass(frozen=True)
class Remote(os.PathLike[str]):
    """A file in a store, or a place for one: it answers to the names of a path that are used of one."""

    address: str  # as it is written
    key: str  # as the store calls it
    system: fs.FileSystem = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.address

    def __fspath__(self) -> str:
        return self.address

    def __truediv__(self, name: str | os.PathLike[str]) -> Remote:
        inside = PurePosixPath(name).as_posix()
        joined = [f"{own.rstrip('/')}/{inside}" for own in (self.address, self.key)]
        return Remote(joined[0], joined[1], self.system)

    @property
    def name(self) -> str:
        """The last part of its address."""
        return PurePosixPath(self.key).name

    @property
    def suffix(self) -> str:
        """Its ending, with the dot."""
        return PurePosixPath(self.key).suffix

    def resolve(self) -> PurePosixPath:
        """Its place among all that the store holds."""
        return PurePosixPath("/") / self.key

    def open(self, mode: str = "rb") -> BinaryIO:
        """The file, to be read from anywhere in it."""
        with complaining(self):
            return cast("BinaryIO", self.system.open_input_file(self.key))

    def is_file(self) -> bool:
        """Whether it is there."""
        with complaining(self):
            return bool(self.system.get_file_info(self.key).is_file)

    def mark(self) -> tuple[int, int, bytes]:
        """Size, time in nanoseconds and a digest of its tag, which another content changes; empty without a tag."""
        with complaining(self), self.system.open_input_file(self.key) as file:
            said = {str(name).lower(): value for name, value in (file.metadata() or {}).items()}
            if "etag" in said:  # one request
                tags = repr([said.get(name) for name in ("etag", "version-id", "last-modified")])
                return int(file.size()), 0, blake2b(tags.encode(), digest_size=16).digest()
            found = self.system.get_file_info(self.key)
            return int(file.size()), int(found.mtime_ns or 0), b""


FilePath = Path | Remote  # of a file of this machine, or in a store

# ------------------------------------------------------------------------------------------------------------- stores


def remote(address: str) -> Remote:
    """The place that an address names."""
    found = _ADDRESS.fullmatch(address)
    assert found is not None
    scheme, rest = found[1].lower(), found[2]
    if not rest.strip("/"):
        raise DataError(f"'{address}' names no {'bucket' if scheme == 's3' else 'file'}. Write {scheme}://bucket/file.")
    if scheme in ("s3", "s3a"):
        return Remote(address, rest.rstrip("/"), _s3(rest.split("/")[0], *_s3_settings()))
    # the first part is a bucket, a host or nothing; what follows may be a pattern
    system, start = _other(f"{scheme}://{rest.split('/')[0]}", scheme)
    key = "/".join([start, *rest.split("/")[1:]]).rstrip("/")
    return Remote(address, key, system)


def _s3_settings() -> tuple[str | None, str | None]:
    """The endpoint and the region that the environment names."""
    names = os.environ.get
    return names("AWS_ENDPOINT_URL_S3") or names("AWS_ENDPOINT_URL"), names("AWS_REGION") or names("AWS_DEFAULT_REGION")


@lru_cache(maxsize=16)
def _s3(bucket: str, endpoint: str | None, region: str | None) -> fs.FileSystem:
    """S3, or a server that speaks as it does."""
    from pyarrow import fs  # nobody waits for it who has files of this machine

    if not hasattr(fs, "S3FileSystem"):
        raise ImportError("s3:// needs a pyarrow that has S3: pip install pyarrow.")
    options: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS}
    if endpoint is not None:
        scheme, _, host = endpoint.rstrip("/").rpartition("://")
        options |= {"endpoint_override": host, "scheme": scheme or "https"}
    elif region is None:
        with complaining(f"s3://{bucket}"):
            region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(**options, **({} if region is None else {"region": region}))


@lru_cache(maxsize=16)
def _other(root: str, scheme: str) -> tuple[fs.FileSystem, str]:
    """Another store, and its name for the place where an address starts."""
    from pyarrow import fs

    try:
        system, start = fs.FileSystem.from_uri(root)
        return system, str(start)
    except (pa.ArrowException, ValueError, OSError) as error:
        refused: Exception = error
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            f"{scheme}:// is no store that pyarrow can open ({_first(refused)}). Others need fsspec, and what it needs "
            f"for {scheme}: pip install fsspec."
        ) from error
    try:
        own = fsspec.filesystem(scheme)
    except ImportError as error:
        raise ImportError(f"{scheme}:// needs a package of its own: {_first(error)}.") from error
    except ValueError as error:
        raise DataError(f"'{root}' cannot be opened: {_first(refused)}; fsspec says: {_first(error)}.") from error
    return fs.PyFileSystem(fs.FSSpecHandler(own)), str(own._strip_protocol(root))


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:200]


def _no_bucket(place: Remote | str) -> DataError:
    return DataError(f"'{place}' is in a bucket that does not exist. Look at its name, and at the region.")


@contextmanager
def complaining(place: Remote | str) -> Iterator[None]:
    """What a store refuses, in words that say what to do."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        text = str(error)
        if _NO_BUCKET.search(text):
            raise _no_bucket(place) from error
        if _DENIED.search(text):
            raise DataError(
                f"'{place}' may not be opened with these credentials ({_first(error)}). Set AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to those of a user who may; other stores have their own names."
            ) from error
        if _NO_HOST.search(text):
            raise DataError(
                f"'{place}': the store cannot be reached ({_first(error)}). Look at the network, and at "
                "AWS_ENDPOINT_URL."
            ) from error
        raise


# -------------------------------------------------------------------------------------------------------------- files


def find_remote(address: str) -> list[Remote]:
    """The file of an address, the files of a pattern or those below a folder, in the order of their names."""
    from pyarrow.fs import FileSelector

    place = remote(address)
    marks = _MARKS.search(place.key)
    if marks is None and place.is_file():
        return [place]
    base = place.key if marks is None else place.key[: place.key.rfind("/", 0, marks.start())]
    pattern = None if marks is None else place.key.split("/")
    deep = pattern is None or "**" in pattern or any(_MARKS.search(part) for part in pattern[:-1])
    with complaining(place):
        try:
            found = place.system.get_file_info(FileSelector(base, recursive=deep))
        except FileNotFoundError:
            return []
    keys = sorted(own.path for own in found if own.is_file)
    start = address[: len(address.rstrip("/")) - len(place.key)]
    return [
        Remote(start + key, key, place.system) for key in keys if pattern is None or _matches(key.split("/"), pattern)
    ]


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a name is one of a pattern, part by part; two stars stand for any number of parts."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def check_remote_output(place: Remote) -> None:
    """Complain of a bucket that is not there before the work, not after it."""
    if place.system.type_name == "s3":
        with complaining(place):
            found = place.system.get_file_info(place.key.split("/")[0])
        if str(found.type) == "FileType.NotFound":
            raise _no_bucket(place)


@contextmanager
def writing_remote(place: Remote) -> Iterator[IO[bytes]]:
    """Something to write to in pieces: a file of this machine without a name, which goes to the store at the end."""
    with tempfile.TemporaryFile(prefix="pysirus-") as file:
        yield cast("IO[bytes]", file)
        file.flush()
        file.seek(0)
        with complaining(place), place.system.open_output_stream(place.key) as stream:
            shutil.copyfileobj(file, stream, 1 << 20)
