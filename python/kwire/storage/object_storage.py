"""Object stores and HDFS as a file system of Arrow, through delta-rs.

So every part of kwire reaches them in the same way and with the same credentials, and executors need neither Hadoop's
jars nor libhdfs. Credentials come from the environment of each process, as delta-rs documents them.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow.fs import FileInfo, FileSelector

_CAUSE = re.compile(r"\s*\x1b\[\d*m↳\x1b\[0m\s*")
"""Text of delta-rs before each cause in an error."""


class StorageHandler(DeltaStorageHandler):
    """The handler of delta-rs, accepting Arrow's buffers, and with errors of one line."""

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        """Return what is at each path."""
        with plain_errors():
            return super().get_file_info(paths)

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        """List a folder."""
        with plain_errors():
            return super().get_file_info_selector(selector)

    def open_input_file(self, path: str) -> pa.PythonFile:
        """Open a file for random access."""
        with plain_errors():
            return super().open_input_file(path)

    def open_input_stream(self, path: str) -> pa.PythonFile:
        """Open a file for reading from its beginning."""
        with plain_errors():
            return super().open_input_stream(path)

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        with plain_errors():
            super().delete_file(path)

    def open_output_stream(self, path: str, metadata: dict[str, str] | None = None) -> pa.PythonFile:
        """Open a file for writing; it exists once it is closed."""
        with plain_errors():
            return pa.PythonFile(_ByteWriter(self._handler.open_output_stream(path, metadata)), mode="w")

    def create_dir(self, path: str, recursive: bool = True) -> None:
        """Do nothing: folders exist with their files."""


class _ByteWriter:
    """Passes on what Arrow writes as bytes: delta-rs takes nothing else."""

    def __init__(self, file: Any) -> None:
        self._file = file

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    def write(self, data: Any) -> int:
        content = bytes(data)
        with plain_errors():
            self._file.write(content)
        return len(content)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        with plain_errors():
            self._file.close()


REMEDIES = {
    "URL scheme is not allowed": "AWS_ALLOW_HTTP=true allows an endpoint without TLS",
    "NoSuchBucket": "the bucket does not exist",
    "ExpiredToken": "the credentials have expired: expected a new AWS_SESSION_TOKEN and its keys",
    "InvalidAccessKeyId": "the store does not know AWS_ACCESS_KEY_ID",
    "SignatureDoesNotMatch": "AWS_SECRET_ACCESS_KEY and AWS_ACCESS_KEY_ID do not match",
    "RequestTimeTooSkewed": "the clocks of this machine and of the store differ",
    "AccessDenied": "the credentials do not allow it",
    "AuthorizationHeaderMalformed": "AWS_REGION is not the region of the bucket",
    "redirect without LOCATION": "the bucket is elsewhere: expected another AWS_REGION or AWS_ENDPOINT_URL",
}
"""The remedy of an error of a store, by a part of its text: a code of S3, or words of delta-rs."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise errors of delta-rs, which have colored trees of causes as texts, with a text of one line."""
    try:
        yield
    except (OSError, DeltaError) as error:
        text = " ".join(_CAUSE.sub(": ", str(error)).split())
        remedy = next((remedy for sign, remedy in REMEDIES.items() if sign in text), "")
        raise type(error)(f"{remedy}: {text}" if remedy else text) from None
