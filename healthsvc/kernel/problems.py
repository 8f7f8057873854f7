"""Turns serializer errors into the 422 list that existing clients parse: `{loc, msg, type}`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rest_framework import serializers

from healthsvc.kernel.errors import Problem

#: A longer list of values stands in the API's document alone.
_NAMED_MAXIMUM: Final = 12
_NOT_A_CHOICE: Final = "Not one of the values that are taken here; the API's document has them."

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


def from_serializer_errors(errors: Any, loc: tuple[str | int, ...], field: Any = None) -> list[Problem]:
    """Every error in a serializer's nested `errors`, with the path to its field. Messages hold no input.

    `field`: what refused, the serializer itself or one of its fields, so that choices can be named.
    """
    if isinstance(errors, Mapping):
        return [
            problem
            for name, nested in errors.items()
            for problem in from_serializer_errors(
                nested, *((loc, field) if name == "non_field_errors" else ((*loc, name), _within(field, name)))
            )
        ]
    if isinstance(errors, Sequence) and not isinstance(errors, str):
        found: list[Problem] = []
        for index, nested in enumerate(errors):
            is_item = isinstance(nested, Mapping | list) and bool(nested)
            found += from_serializer_errors(
                nested, *(((*loc, index), _within(field, index)) if is_item else (loc, field))
            )
        return found
    code = str(getattr(errors, "code", "invalid"))
    message = _choices_told(field) if code == "invalid_choice" else str(errors)
    return [Problem(loc, message, _TYPES.get(code, code))]


def _within(field: Any, name: str | int) -> Any:
    """What is inside a field: of a serializer the field of this name, of a list or mapping what each item is."""
    if isinstance(field, serializers.Serializer):
        return field.fields.get(str(name))
    return getattr(field, "child", None)


def _choices_told(field: Any) -> str:
    values = [str(value) for value in field.choices] if isinstance(field, serializers.ChoiceField) else []
    if not 0 < len(values) <= _NAMED_MAXIMUM:
        return _NOT_A_CHOICE
    return f"Must be {'one of ' if len(values) > 1 else ''}{', '.join(values)}."
