"""The files beside export.xml in an archive: routes and electrocardiograms to read, clinical documents to name.

Nothing is written to disk, and a path in the export is only ever looked up among the archive's own names. Each file
is read once, however often the export refers to it, and all together no further than a bound.
"""

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.tally import ExportTally, LeftOutReason, RefusalReason

CDA_NAME = "export_cda.xml"
ROUTES = "workout-routes"
ELECTROCARDIOGRAMS = "electrocardiograms"
CLINICAL = "clinical-records"

#: What zipfile raises over a damaged archive, beside BadZipFile; RuntimeError and NotImplementedError are its
#: words for encryption and for packing methods it lacks.
ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class DamagedAttachmentError(Exception):
    """A file of the archive breaks off or can't be inflated."""


class Attachments:
    """Routes by the path the export names them by, and electrocardiograms in the order of their names."""

    def __init__(self, archive: zipfile.ZipFile | None, limits: ExportLimits, tally: ExportTally) -> None:
        self._archive = archive
        self._tally = tally
        self._left_bytes = limits.max_attached_bytes
        self._max_electrocardiogram_bytes = limits.max_electrocardiogram_bytes
        self._routes: dict[str, zipfile.ZipInfo] = {}
        self._electrocardiograms: list[zipfile.ZipInfo] = []
        for member in archive.infolist() if archive else ():
            self._sort(member)
        self._electrocardiograms.sort(key=lambda member: member.filename)

    def _sort(self, member: zipfile.ZipInfo) -> None:
        path = member.filename.lower()
        if path.endswith("/" + CDA_NAME) or path == CDA_NAME:
            self._tally.leave_out_unread(CDA_NAME, LeftOutReason.EXCLUDED_CLINICAL)
        elif CLINICAL + "/" in path and path.endswith(".json"):
            self._tally.leave_out_unread(CLINICAL, LeftOutReason.EXCLUDED_CLINICAL)
        elif ROUTES + "/" in path and path.endswith(".gpx"):
            self._routes.setdefault(_below(path, ROUTES), member)
        elif ELECTROCARDIOGRAMS + "/" in path and path.endswith(".csv"):
            self._electrocardiograms.append(member)

    @contextmanager
    def route(self, path: str) -> Iterator[Callable[[int], bytes] | None]:
        """Reads the route that the export calls `path`; None where it is not there, or was read before."""
        member = self._routes.pop(_below(path.lower(), ROUTES), None) if ROUTES in path.lower() else None
        if member is None:
            yield None
            return
        with self._opened(member) as read:
            yield read

    def electrocardiograms(self) -> Iterator[bytes | RefusalReason]:
        """The content of each electrocardiogram, or why it can't be read."""
        for member in self._electrocardiograms:
            limit = self._max_electrocardiogram_bytes
            try:
                with self._opened(member) as read:
                    content = read(limit + 1)
            except DamagedAttachmentError:
                yield RefusalReason.TRUNCATED
                continue
            yield content if len(content) <= limit else RefusalReason.TOO_LARGE
        self._electrocardiograms = []

    def name_the_rest(self) -> None:
        """Count the routes that no workout referred to."""
        if self._routes:
            self._tally.leave_out_unread(ROUTES, LeftOutReason.NOT_REFERENCED, len(self._routes))
        self._routes = {}

    @contextmanager
    def _opened(self, member: zipfile.ZipInfo) -> Iterator[Callable[[int], bytes]]:
        if self._archive is None or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedAttachmentError
        try:
            source = self._archive.open(member)
        except ARCHIVE_ERRORS as error:
            raise DamagedAttachmentError from error
        with source:
            yield lambda size: self._read(source, size)

    def _read(self, source: IO[bytes], size: int) -> bytes:
        if self._left_bytes <= 0:
            raise DamagedAttachmentError
        try:
            data = source.read(size)
        except ARCHIVE_ERRORS as error:
            raise DamagedAttachmentError from error
        self._left_bytes -= len(data)
        return data


def _below(path: str, folder: str) -> str:
    """The path from a folder on: exports name routes from the archive's inner folder, whose name is translated."""
    return path[path.rindex(folder + "/") :] if folder + "/" in path else path
