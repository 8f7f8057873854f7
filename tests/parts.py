"""Parts of what is long, for checks that take long and find the same in every part."""

from typing import Any

#: Of the items of a list, so many from either end.
ENDS = 50


def shortened(value: Any) -> Any:
    """The value with what is in the middle of its long lists left out."""
    if isinstance(value, dict):
        return {name: shortened(item) for name, item in value.items()}
    if isinstance(value, list):
        kept = value if len(value) <= 2 * ENDS else [*value[:ENDS], *value[-ENDS:]]
        return [shortened(item) for item in kept]
    return value
