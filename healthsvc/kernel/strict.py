"""Bodies and query parameters that know every name in them, so that a misspelt one is refused and never overlooked."""

from typing import Any, Final

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

#: Names that are told of at most, and how much of each.
_NAMED_MAXIMUM: Final = 20
_NAME_MAXIMUM_CHARACTERS: Final = 100


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses names that are none of its fields; each is an error of its own, beside those of the fields."""

    def to_internal_value(self, data: Any) -> Any:
        """The fields' values."""
        unknown = [str(name)[:_NAME_MAXIMUM_CHARACTERS] for name in data if name not in self.fields]
        message = f"There is no such field here. There are: {', '.join(self.fields)}."
        found = {name: [ErrorDetail(message, "extra_forbidden")] for name in unknown[:_NAMED_MAXIMUM]}
        try:
            values = super().to_internal_value(data)
        except ValidationError as error:
            raise ValidationError({**found, **_by_field(error)}) from None
        if found:
            raise ValidationError(found)
        return values


def _by_field(error: ValidationError) -> dict[str, Any]:
    """A serializer's errors, which are always by field."""
    return error.detail if isinstance(error.detail, dict) else {"non_field_errors": error.detail}
