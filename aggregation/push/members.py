"""The members of a JSON object, each still as text, and none there twice."""

import re
from dataclasses import dataclass
from typing import Final

import msgspec

from healthsvc.kernel.errors import Problem, invalid

_NAME: Final = re.compile(rb'[\s{,]*("(?:[^"\\]++|\\.)*+")\s*:\s*', re.DOTALL)
#: A name that may be repeated to its sender: it looks like one of this service's.
_SHOWN: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")
_END: Final = re.compile(rb"[\s{]*}")
_READ: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_READ_NAME: Final = msgspec.json.Decoder(str)


@dataclass(frozen=True, slots=True)
class Member:
    """A value inside a body, and the place of its first byte there."""

    raw: msgspec.Raw
    start: int

    def begins_with(self, mark: bytes) -> bool:
        """Whether it is an object (`{`), a list (`[`) …"""
        return bytes(memoryview(self.raw)[: len(mark)]) == mark


def members_read(body: bytes, of: Member, loc: tuple[str, ...], maximum: int) -> dict[str, Member]:
    """The members of an object in a body; 422 at `loc` for a name that is there twice, or for more than `maximum`.

    No value is copied.

    msgspec's errors where it is no object. A reader of JSON keeps the last of two members of one name and says nothing,
    so the names are walked through once more: each must be followed by the very value that was kept.
    """
    kept = _READ.decode(of.raw)
    if len(kept) > maximum:
        raise invalid([Problem(loc, f"May have at most {maximum} members.", "too_many")])
    found: dict[str, Member] = {}
    place, name = of.start, ""
    while match := _NAME.match(body, place):
        name = _READ_NAME.decode(match[1])
        value = memoryview(kept[name])
        if name in found or not body.startswith(value, match.end()):
            raise _twice(loc, name)
        found[name] = Member(kept[name], match.end())
        place = match.end() + len(value)
    if not _END.match(body, place):
        # The value there only begins with the one that was kept.
        raise _twice(loc, name)
    return found


def _twice(loc: tuple[str, ...], name: str) -> Exception:
    place = (*loc, name) if _SHOWN.fullmatch(name) else loc
    return invalid([Problem(place, "A name is there twice.", "duplicate")])
