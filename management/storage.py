"""Files at rest: a storage that seals what it writes, chunk by chunk, so that no file is held in memory.

Stored form: chunks of `length (4 bytes) | sealed bytes`; each chunk's place names the file and the chunk's number,
and the last chunk is marked, so that chunks can't be swapped, dropped or moved to another file.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, storages

from healthsvc.kernel.crypto import DecryptionError, seal, unseal

CHUNK_BYTES: Final = 1 << 20
_LENGTH_BYTES: Final = 4


class EncryptedFileSystemStorage(FileSystemStorage):
    """A folder of files that only this service's keys can read."""

    def __init__(self, **kwargs: object) -> None:
        kwargs.setdefault("file_permissions_mode", 0o600)
        kwargs.setdefault("directory_permissions_mode", 0o700)
        super().__init__(**kwargs)  # type: ignore[arg-type]

    def write_chunks(self, name: str, chunks: Iterator[bytes]) -> int:
        """Write a new file from plaintext chunks of any size; the number of plaintext bytes. All of it or no file."""
        path = self.path(name)
        self._ensure_folder(path)
        with self._new_file(path) as file:
            try:
                return _sealed_write(file, name, chunks)
            except BaseException:
                Path(path).unlink()
                raise

    def read_chunks(self, name: str) -> Iterator[bytes]:
        """The plaintext, a chunk at a time; DecryptionError where the file was cut or changed."""
        with self.open(name, "rb") as file:
            yield from _opened(cast("BinaryIO", file), name)

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
