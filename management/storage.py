"""Files at rest: a storage that seals what it writes, chunk by chunk, so that no file is held in memory.

Stored form: chunks of `length (4 bytes) | sealed bytes`; each chunk's place names the file and the chunk's number,
and the last chunk is marked, so that chunks can't be swapped, dropped or moved to another file.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final, cast

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, storages

from healthsvc.kernel.crypto import DecryptionError, seal, sealed_key_id, unseal

CHUNK_BYTES: Final = 1 << 20
_LENGTH_BYTES: Final = 4
#: Version, length and the longest key id: what tells a sealed chunk's key.
_KEY_ID_BYTES_MAXIMUM: Final = 2 + 255


class EncryptedFileSystemStorage(FileSystemStorage):
    """A folder of files that only this service's keys can read."""

    def __init__(self, **kwargs: object) -> None:
        kwargs.setdefault("file_permissions_mode", 0o600)
        kwargs.setdefault("directory_permissions_mode", 0o700)
        super().__init__(**kwargs)  # type: ignore[arg-type]

    def write_chunks(self, name: str, chunks: Iterator[bytes]) -> int:
        """Write a new file from plaintext chunks of any size; the number of plaintext bytes. All of it or no file.

        What this returns from is on the disk: the row that names the file may be committed.
        """
        path = self.path(name)
        self._ensure_folder(path)
        with self._new_file(path) as file:
            try:
                size_bytes = _sealed_write(file, name, chunks)
                file.flush()
                os.fsync(file.fileno())
                self._keep_entries(Path(path).parent)
            except BaseException:
                Path(path).unlink()
                raise
        return size_bytes

    def read_chunks(self, name: str) -> Iterator[bytes]:
        """The plaintext, a chunk at a time; DecryptionError where the file was cut or changed."""
        with self.open(name, "rb") as file:
            yield from _opened(cast("BinaryIO", file), name)

    def key_id(self, name: str) -> str:
        """The id of the key that the file's first chunk was sealed with."""
        with self.open(name, "rb") as file:
            length = int.from_bytes(file.read(_LENGTH_BYTES))
            return sealed_key_id(file.read(min(length, _KEY_ID_BYTES_MAXIMUM)))

    def names_before(self, moment: datetime) -> Iterator[str]:
        """The names of files last written before `moment`."""
        root = Path(self.location)
        for path in root.rglob("*"):
            # A file may be removed by its owner while the folders are walked.
            with suppress(FileNotFoundError):
                if path.is_file() and path.stat().st_mtime < moment.timestamp():
                    yield path.relative_to(root).as_posix()

    def _keep_entries(self, folder: Path) -> None:
        """Bring the folder's entry and what it lists to the disk."""
        for listing in (folder, folder.parent):
            descriptor = os.open(listing, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _ensure_folder(self, path: str) -> None:
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _new_file(self, path: str) -> BinaryIO:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _sealed_write(file: BinaryIO, name: str, chunks: Iterator[bytes]) -> int:
    total = 0
    for number, (piece, last) in enumerate(_regular(chunks)):
        sealed = seal(piece, place=_place(name, number, last))
        file.write(len(sealed).to_bytes(_LENGTH_BYTES) + sealed)
        total += len(piece)
    return total


def _regular(chunks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The same bytes in pieces of CHUNK_BYTES, each with whether it is the last."""
    pending = bytearray()
    for chunk in chunks:
        pending += chunk
        while len(pending) > CHUNK_BYTES:
            yield bytes(pending[:CHUNK_BYTES]), False
            del pending[:CHUNK_BYTES]
    yield bytes(pending), True


def _opened(file: BinaryIO, name: str) -> Iterator[bytes]:
    number = 0
    length = file.read(_LENGTH_BYTES)
    while length:
        sealed = file.read(int.from_bytes(length))
        length = file.read(_LENGTH_BYTES)
        yield unseal(sealed, place=_place(name, number, not length))
        number += 1
    if number == 0:
        raise DecryptionError("A stored file is empty.")


def _place(name: str, number: int, last: bool) -> str:
    return f"file:{name}:{number}:{'last' if last else 'more'}"


def default_storage() -> EncryptedFileSystemStorage:
    """The configured storage; every backend named there offers `write_chunks` and `read_chunks`."""
    return cast("EncryptedFileSystemStorage", storages["default"])


def file_chunks(file: File) -> Iterator[bytes]:  # type: ignore[type-arg]
    """An uploaded file's bytes in chunks."""
    yield from file.chunks(CHUNK_BYTES)
