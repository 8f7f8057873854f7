"""Finds export.xml, in an archive or bare, and reads it as a stream of bytes of known length."""

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from aggregation.apple_health.attachments import ARCHIVE_ERRORS, CDA_NAME, Attachments
from aggregation.apple_health.limits import ExportLimits, ExportRefusalCode, ExportRefusedError
from aggregation.apple_health.tally import ExportTally

_ZIP_MAGIC = b"PK"
_MAX_CANDIDATES = 16
_PEEK_STEP_BYTES = 16 * 1024
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_START_TAG = re.compile(rb"<([A-Za-z_][A-Za-z0-9_.\-]*)(?=[\s/>])")
_ENTITY = re.compile(rb"<!ENTITY|<!DOCTYPE\s+[A-Za-z0-9_.\-]+\s+(?:SYSTEM|PUBLIC)", re.IGNORECASE)
_ROOT = b"HealthData"


class DamagedStreamError(Exception):
    """The archive's data end or break off before the file's own end."""


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


@dataclass(slots=True)
class ExportStream:
    """The bytes of one export.xml, `total_bytes` is their promised number; and the files that came with it."""

    total_bytes: int
    attachments: Attachments
    _source: _Readable
    _archived: bool

    def read(self, size: int) -> bytes:
        """The next bytes, none at the end. Raises DamagedStreamError where an archive breaks off."""
        if not self._archived:
            return self._source.read(size)
        try:
            return self._source.read(size)
        except ARCHIVE_ERRORS as error:
            raise DamagedStreamError from error


def root_position(prolog: bytes) -> tuple[bytes, int] | None:
    """Name and place of the first start tag, or None where these bytes hold none yet.

    The document type before it is skipped unread: that of iOS 16 lacks brackets and no parser takes it. Since it
    is never interpreted nothing in it can be expanded; entity declarations are refused all the same.
    """
    blanked = _COMMENT.sub(lambda match: b" " * len(match[0]), prolog)
    match = _START_TAG.search(blanked)
    before = prolog if match is None else prolog[: match.start()]
    if _ENTITY.search(before):
        raise ExportRefusedError(ExportRefusalCode.ENTITIES_FORBIDDEN)
    return None if match is None else (match[1], match.start())


@contextmanager
def open_export(file: BinaryIO | Path, limits: ExportLimits, tally: ExportTally) -> Iterator[ExportStream]:
    """Opens an export.zip or a bare export.xml; a stream must be seekable and stays open.

    An archive's clinical files are counted in `tally` as left out.
    Raises ExportRefusedError.
    """
    if isinstance(file, Path):
        with file.open("rb") as opened, _open_seekable(opened, limits, tally) as stream:
            yield stream
    else:
        with _open_seekable(file, limits, tally) as stream:
            yield stream


@contextmanager
def _open_seekable(file: BinaryIO, limits: ExportLimits, tally: ExportTally) -> Iterator[ExportStream]:
    total_bytes = file.seek(0, 2)
    file.seek(0)
    magic = file.read(len(_ZIP_MAGIC))
    file.seek(0)
    if magic != _ZIP_MAGIC:
        if total_bytes > limits.max_xml_bytes:
            raise ExportRefusedError(ExportRefusalCode.TOO_LARGE)
        yield ExportStream(total_bytes, Attachments(None, limits, tally), file, _archived=False)
        return
    with _open_archive(file, limits) as archive:
        member = _find_export(archive, limits)
        if member.file_size > limits.max_xml_bytes:
            raise ExportRefusedError(ExportRefusalCode.TOO_LARGE)
        with _open_member(archive, member) as source:
            yield ExportStream(member.file_size, Attachments(archive, limits, tally), source, _archived=True)


class _BoundedReads:
    """A file for zipfile that refuses single reads over a bound: zipfile reads the whole directory at once, and
    the archive says how large that is."""

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        self._file = file
        self._max_bytes = max_bytes

    def read(self, size: int = -1, /) -> bytes:
        if size > self._max_bytes:
            raise ExportRefusedError(ExportRefusalCode.TOO_LARGE)
        if size >= 0:
            return self._file.read(size)
        data = self._file.read(self._max_bytes + 1)
        if len(data) > self._max_bytes:
            raise ExportRefusedError(ExportRefusalCode.TOO_LARGE)
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


def _open_archive(file: BinaryIO, limits: ExportLimits) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(_BoundedReads(file, limits.max_directory_bytes))
    except ARCHIVE_ERRORS as error:
        raise ExportRefusedError(ExportRefusalCode.UNREADABLE_ARCHIVE) from error


def _open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    encrypted = member.flag_bits & 0x1
    if encrypted or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ExportRefusedError(ExportRefusalCode.UNREADABLE_ARCHIVE)
    try:
        return archive.open(member)
    except ARCHIVE_ERRORS as error:
        raise ExportRefusedError(ExportRefusalCode.UNREADABLE_ARCHIVE) from error


def _find_export(archive: zipfile.ZipFile, limits: ExportLimits) -> zipfile.ZipInfo:
    """The largest XML file whose root is HealthData, in any folder and under any (localised) name."""
    named = [
        member
        for member in archive.infolist()
        if member.filename.lower().endswith(".xml") and not member.filename.lower().endswith(CDA_NAME)
    ]
    named.sort(key=lambda member: member.file_size, reverse=True)
    refused: ExportRefusedError | None = None
    for member in named[:_MAX_CANDIDATES]:
        try:
            if _root_of(archive, member, limits.max_prolog_bytes) == _ROOT:
                return member
        except ExportRefusedError as refusal:
            refused = refused or refusal
    raise refused or ExportRefusedError(ExportRefusalCode.NOT_AN_EXPORT)


def _root_of(archive: zipfile.ZipFile, member: zipfile.ZipInfo, peek_bytes: int) -> bytes | None:
    """The name of a member's root element; read in small steps, so that damage behind it is met by the reader."""
    prolog = b""
    with _open_member(archive, member) as source:
        while len(prolog) < peek_bytes:
            try:
                data = source.read(_PEEK_STEP_BYTES)
            except ARCHIVE_ERRORS as error:
                raise ExportRefusedError(ExportRefusalCode.UNREADABLE_ARCHIVE) from error
            prolog += data
            root = root_position(prolog)
            if root is not None:
                return root[0]
            if not data:
                break
    return None
