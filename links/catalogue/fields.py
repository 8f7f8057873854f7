"""One file of the catalogue being read: takes typed fields out of it, and knows which were left over."""

import re
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Any, Final, TypeVar

from django.core.exceptions import ImproperlyConfigured

_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_CLASS_PATH: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

#: What a value must be, in the words of the file's own language.
_KINDS: Final[Mapping[type[Any], str]] = {
    str: 'a text: "in quotes"',
    bool: "true or false",
    int: "a whole number",
    date: "a date: 2026-11-02",
    list: 'a list: ["one", "another"]',
    dict: "a table",
}

E = TypeVar("E", bound=StrEnum)


class Fields:
    """The fields of one file, or of one table in it. `name` is what a mistake is told with."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self.name = name
        self._values = dict(values)

    def fail(self, field: str, message: str) -> ImproperlyConfigured:
        """The mistake, for the caller to raise."""
        return ImproperlyConfigured(f"links/catalogue: {self.name}: {field} {message}")

    def take(self, field: str, kind: type[Any], default: Any = None) -> Any:
        """A field's value; a mistake where it is of another kind, or missing without a default."""
        value = self._values.pop(field, default)
        if value is None:
            raise self.fail(field, "is missing.")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.fail(field, f"must be {_KINDS[kind]}.")
        return value

    def number(self, field: str, lowest: int, highest: int, default: int | None = None) -> int:
        """A whole number in a range."""
        found: int = self.take(field, int, default)
        if not lowest <= found <= highest:
            raise self.fail(field, f"must be from {lowest} to {highest}.")
        return found

    def choice(self, field: str, choices: type[E], default: E | None = None) -> E:
        """One of an enumeration's words."""
        text = self.take(field, str, default)
        if text not in list(choices):
            raise self.fail(field, f"must be one of {', '.join(choices)}.")
        return choices(text)

    def words(self, field: str, allowed: "frozenset[str] | None" = None) -> tuple[str, ...]:
        """A list of texts, of `allowed` where that is given; none where the field is left out."""
        found = self.take(field, list, [])
        if not all(isinstance(one, str) and one and (allowed is None or one in allowed) for one in found):
            raise self.fail(field, f"must be a list of {', '.join(sorted(allowed)) if allowed else 'texts'}.")
        return tuple(found)

    def texts(self, field: str) -> Mapping[str, str]:
        """A table whose values are texts; an empty one where the field is left out."""
        found: Mapping[str, str] = self.take(field, dict, {})
        if not all(isinstance(value, str) for value in found.values()):
            raise self.fail(field, "must be texts.")
        return found

    def https(self, field: str, default: str | None = None) -> str:
        """An https address, or the default."""
        url: str = self.take(field, str, default)
        if url != default and not url.startswith("https://"):
            raise self.fail(field, "must be an https address.")
        return url

    def scopes(self, field: str) -> tuple[str, ...]:
        """A list of OAuth scopes (RFC 6749, 3.3)."""
        found = self.take(field, list, [])
        if not all(isinstance(scope, str) and _SCOPE.fullmatch(scope) for scope in found):
            raise self.fail(field, "must be a list of scopes.")
        return tuple(found)

    def class_path(self, field: str) -> str:
        """`module:Class`, or '' where the field is left out. Whether it can be imported is asked later."""
        path: str = self.take(field, str, "")
        if path and not _CLASS_PATH.fullmatch(path):
            raise self.fail(field, "must be module:Class.")
        return path

    def table(self, field: str, default: Mapping[str, Any] | None = None) -> "Fields":
        """A table in this file."""
        return Fields(f"{self.name} [{field}]", self.take(field, dict, default))

    def tables(self, field: str) -> list["Fields"]:
        """A list of tables; none where the field is left out."""
        found = self.take(field, list, [])
        if not all(isinstance(one, dict) for one in found):
            raise self.fail(field, "must be a list of tables.")
        return [Fields(f"{self.name} [{field} {number}]", one) for number, one in enumerate(found, start=1)]

    def names(self) -> list[str]:
        """The fields that were not taken yet."""
        return list(self._values)

    def end(self) -> None:
        """A mistake where a field was not taken."""
        if self._values:
            raise self.fail(", ".join(sorted(self._values)), "is not a field of this file.")
