"""List columns: rows of lists laid one after another."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import cast

import numpy as np

from aggregation.codec import LabelColumn
from aggregation.query import ColumnType, Labels
from aggregation.query.reader import ListValues, TableValues
from aggregation.query.schema import ELEMENT
from healthsvc.kernel.typing import JSONValue


def tag_lists(tags: LabelColumn) -> ListValues:
    """Texts joined by commas, taken apart; a sample without has no list."""
    elements: dict[str, int] = {}
    listed = [[elements.setdefault(one, len(elements)) for one in name.split(",") if one] for name in tags.names]
    # A code of -1 finds the empty list at the end.
    lengths = np.array([*map(len, listed), 0], np.int64)
    starts = np.cumsum(lengths) - lengths
    flat = np.array([code for codes in listed for code in codes], np.int64)
    sizes = lengths[tags.codes]
    offsets = np.append(np.zeros(1, np.int64), np.cumsum(sizes))
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + np.repeat(starts[tags.codes], sizes)
    present = tags.codes >= 0
    return ListValues(
        offsets, {ELEMENT: Labels(flat[places], tuple(elements))}, None if bool(present.all()) else present
    )


def struct_lists(rows: Sequence[JSONValue], fields: Mapping[str, ColumnType]) -> ListValues:
    """Lists of objects as summaries keep them; a row without has an empty one, as the API shows it."""
    listed = [row if isinstance(row, list) else [] for row in rows]
    offsets = np.cumsum([0, *map(len, listed)], dtype=np.int64)
    elements = [element for one in listed for element in one]
    cells = {name: [_cell(element, name, kind) for element in elements] for name, kind in fields.items()}
    # Each cell is of its field's declared type or None; the lists can't say so.
    return ListValues(offsets, cast("Mapping[str, TableValues]", cells))


def _cell(element: JSONValue, name: str, kind: ColumnType) -> object:
    value = element.get(name) if isinstance(element, Mapping) else None
    return date.fromisoformat(value) if kind is ColumnType.DATE and isinstance(value, str) else value
