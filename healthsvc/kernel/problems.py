"""Turns serializer errors into the 422 list that existing clients parse: `{loc, msg, type}`."""

from collections.abc import Mapping, Sequence
from typing import Any

from healthsvc.kernel.errors import Problem

#: DRF's error codes under the names that clients of such APIs know; others keep DRF's own.
_TYPES = {
    "required": "missing",
    "null": "null_forbidden",
    "blank": "string_too_short",
    "max_length": "string_too_long",
    "min_length": "string_too_short",
    "max_value": "less_than_equal",
    "min_value": "greater_than_equal",
    "invalid_choice": "enum",
    "not_a_list": "list_type",
    "empty": "too_short",
    "invalid": "value_error",
}


def from_serializer_errors(errors: Any, loc: tuple[str | int, ...]) -> list[Problem]:
    """Every error in a serializer's nested `errors`, with the path to its field. Messages hold no input."""
    if isinstance(errors, Mapping):
        return [
            problem
            for name, nested in errors.items()
            for problem in from_serializer_errors(nested, loc if name == "non_field_errors" else (*loc, name))
        ]
    if isinstance(errors, Sequence) and not isinstance(errors, str):
        found: list[Problem] = []
        for index, nested in enumerate(errors):
            inner = (*loc, index) if isinstance(nested, Mapping | list) and nested else loc
            found += from_serializer_errors(nested, inner)
        return found
    code = str(getattr(errors, "code", "invalid"))
    message = "Not one of the values that are taken here." if code == "invalid_choice" else str(errors)
    return [Problem(loc, message, _TYPES.get(code, code))]
