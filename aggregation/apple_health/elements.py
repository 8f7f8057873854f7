"""The incremental XML parser: whole top-level elements of export.xml, one after another, in constant memory.

Expat parses; around it stands what Apple's files need. The document type is skipped unread (iOS 16 writes a broken
one). Control characters that XML forbids, which iOS 16 lets through, become spaces; broken UTF-8 becomes U+FFFD.
Where the XML is broken the element is given up, counted, and reading goes on at the next top-level start tag.
"""

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias
from xml.parsers import expat

from aggregation.apple_health.archive import root_position
from aggregation.apple_health.limits import ExportLimits, ExportRefusalCode, ExportRefusedError

Attributes: TypeAlias = dict[str, str]
Child: TypeAlias = tuple[str, Attributes]
OnElement: TypeAlias = "Callable[[str, Attributes, list[Child]], None]"
OnMalformed: TypeAlias = "Callable[[], None]"

#: The direct children that are kept. A heart rate's beats are named once, not listed.
KEPT_CHILDREN = frozenset(
    {"MetadataEntry", "WorkoutStatistics", "WorkoutEvent", "Record", "HeartRateVariabilityMetadataList"}
)
#: Of a workout's events those that stop and start its clock; laps and segments can be thousands.
KEPT_EVENTS = frozenset({"HKWorkoutEventTypePause", "HKWorkoutEventTypeResume"})
#: What is kept one level deeper: the file of a workout's route.
KEPT_GRANDCHILDREN = frozenset({"FileReference"})

#: The elements at which reading goes on behind a broken place.
TOP_LEVEL = frozenset(
    {
        "Record",
        "Correlation",
        "Workout",
        "ActivitySummary",
        "ClinicalRecord",
        "Audiogram",
        "VisionPrescription",
    }
)

_ROOT = "HealthData"
_SYNTHETIC_ROOT = b"<HealthData>"
_RESUME = re.compile(rb"<(?:(?:%b)[\s/>]|/HealthData\s*>)" % "|".join(sorted(TOP_LEVEL)).encode())
_RESUME_OVERLAP = 64
_INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]
_FORBIDDEN_CONTROLS = bytes(code for code in range(32) if code not in (0x09, 0x0A, 0x0D))
_BLANK_CONTROLS = bytes.maketrans(_FORBIDDEN_CONTROLS, b" " * len(_FORBIDDEN_CONTROLS))


class _BrokenElementError(Exception):
    """Raised inside a handler to leave the parser: this tag may not stand here. Carries its place, which the parser
    knows only inside the handler, for it reads its piece to the end before the exception comes out."""

    def __init__(self, byte_index: int) -> None:
        super().__init__()
        self.byte_index = byte_index


class ElementParser:
    """Feed it bytes; it calls `on_element(name, attributes, kept children)` for each child of the root.

    `on_malformed` is called once for each place given up. `feed` and `close` raise ExportRefusedError only.
    """

    def __init__(self, on_element: OnElement, on_malformed: OnMalformed, limits: ExportLimits) -> None:
        self._on_element = on_element
        self._on_malformed = on_malformed
        self._limits = limits
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held: bytes | None = b""
        self._carry: bytes | None = None
        self._after_bracket = False
        self._malformed = 0
        self.finished = False
        self.root_closed = False
        self._restart()

    def feed(self, data: bytes) -> None:
        """Parse the next bytes, in pieces of any size."""
        clean = self._decoder.decode(data.translate(_BLANK_CONTROLS)).encode()
        if self._held is not None:
            clean = self._after_prolog(self._held + clean)
        clean = self._without_instructions(clean)
        fresh = False
        while clean and not self.finished:
            if self._carry is not None:
                clean = self._find_next(self._carry + clean)
                fresh = True
                if not clean:
                    return
            clean = self._parse(clean, fresh=fresh)

    def close(self) -> bool:
        """End of the bytes: whether the root was closed, that is the document whole. Raises ExportRefusedError where
        there never was a root."""
        if self._held is not None:
            raise ExportRefusedError(ExportRefusalCode.NOT_AN_EXPORT)
        # Newer expats put off a long unfinished tag until more bytes come; none do.
        with suppress(expat.ExpatError, _BrokenElementError):
            self._parser.Parse(b"", True)
        return self.root_closed

    def _without_instructions(self, data: bytes) -> bytes:
        """The same with `< ` for `<?`, at which expat stops at once: an export holds no processing instruction, and one
        that damage began would swallow everything up to an end that never comes."""
        if self._after_bracket and data[:1] == b"?":
            data = b" " + data[1:]
        if data:
            self._after_bracket = data.endswith(b"<")
        return data.replace(b"<?", b"< ")

    def _after_prolog(self, data: bytes) -> bytes:
        """The document from its root on; nothing, and the bytes kept, while the root has not come yet."""
        root = root_position(data)
        if root is None:
            if len(data) > self._limits.max_prolog_bytes:
                raise ExportRefusedError(ExportRefusalCode.NOT_AN_EXPORT)
            self._held = data
            return b""
        name, position = root
        if name != _ROOT.encode():
            raise ExportRefusedError(ExportRefusalCode.NOT_AN_EXPORT)
        self._held = None
        return data[position:]

    def _restart(self) -> None:
        """A new parser: expat can't go on after an error, and keeps every name it ever saw."""
        parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser = parser
        self._names: dict[str, str] = parser.intern
        self._fed = 0
        self._depth = 0
        self._quiet_bytes = 0
        self._element: tuple[str, Attributes] | None = None
        self._children: list[Child] = []

    def _find_next(self, data: bytes) -> bytes:
        match = _RESUME.search(data)
        if match is None:
            self._carry = data[-_RESUME_OVERLAP:]
            return b""
        self._carry = None
        self._restart()
        self._parser.Parse(_SYNTHETIC_ROOT, False)
        self._fed = len(_SYNTHETIC_ROOT)
        return data[match.start() :]

    def _parse(self, data: bytes, *, fresh: bool) -> bytes:
        """Parse; answers what is left to parse: nothing, or the bytes after a broken place."""
        fed_before = self._fed
        self._fed += len(data)
        self._quiet_bytes += len(data)
        try:
            self._parser.Parse(data, False)
        except expat.ExpatError as error:
            broken_at = self._parser.ErrorByteIndex - fed_before
            if error.code != _INVALID_TOKEN:
                # Expat points at the start of the broken tag, not, as else, at the character that breaks it.
                broken_at += 1
        except _BrokenElementError as error:
            broken_at = error.byte_index - fed_before
        else:
            if self._quiet_bytes <= self._limits.max_element_bytes and len(self._names) <= self._limits.max_names:
                return b""
            broken_at = len(data)
        return self._give_up(data, max(broken_at, 1 if fresh else 0))

    def _give_up(self, data: bytes, broken_at: int) -> bytes:
        """Count the broken place and search on behind it; past the bound the rest of the file is left unread."""
        self._carry = b""
        self._malformed += 1
        self._on_malformed()
        if self._malformed >= self._limits.max_malformed:
            self.finished = True
        return data[broken_at:]

    def _refuse_doctype(self, *_declaration: object) -> None:
        raise _BrokenElementError(self._parser.CurrentByteIndex)

    def _start(self, name: str, attributes: Attributes) -> None:
        self._quiet_bytes = 0
        self._depth += 1
        if self._depth == 2:
            self._element = (name, attributes)
        elif name in TOP_LEVEL and not self._in_correlation(name):
            raise _BrokenElementError(self._parser.CurrentByteIndex)
        elif self._depth == 3:
            if name in KEPT_CHILDREN and (name != "WorkoutEvent" or attributes.get("type") in KEPT_EVENTS):
                self._keep(name, attributes)
        elif self._depth == 4 and name in KEPT_GRANDCHILDREN:
            self._keep(name, attributes)
        elif self._depth > self._limits.max_depth:
            raise _BrokenElementError(self._parser.CurrentByteIndex)

    def _keep(self, name: str, attributes: Attributes) -> None:
        if len(self._children) < self._limits.max_children:
            self._children.append((name, attributes))

    def _in_correlation(self, name: str) -> bool:
        """Whether a record stands where it may: nowhere else does one top-level element hold another, so the outer
        one must have lost its end."""
        return name == "Record" and self._depth == 3 and self._element is not None and self._element[0] == "Correlation"

    def _end(self, _name: str) -> None:
        self._quiet_bytes = 0
        self._depth -= 1
        if self._depth == 0:
            self.root_closed = True
        elif self._depth == 1 and self._element is not None:
            name, attributes = self._element
            children = self._children
            self._element = None
            if children:
                self._children = []
            # An empty list is used again for the next element; whoever keeps what it gets must have one of its own.
            self._on_element(name, attributes, children or [])
