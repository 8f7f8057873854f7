"""Recorded-shape payloads from tests/data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from healthsvc.kernel.typing import JSONValue

DATA = Path(__file__).parent.parent / "data"


def load(name: str) -> Mapping[str, JSONValue]:
    """A payload file as the vendor's answer."""
    document = orjson.loads((DATA / name).read_bytes())
    assert isinstance(document, dict)
    return document


def rows(name: str, *path: str) -> Sequence[JSONValue]:
    """The list at a path of keys in a payload file."""
    found: JSONValue = load(name)
    for key in path:
        assert isinstance(found, Mapping)
        found = found[key]
    assert isinstance(found, list)
    return found


def mapping(row: JSONValue) -> Mapping[str, JSONValue]:
    """A row, which is an object."""
    assert isinstance(row, Mapping)
    return row


def changed(row: JSONValue, **fields: JSONValue) -> Mapping[str, JSONValue]:
    """A row with fields written over; None stands for null."""
    assert isinstance(row, Mapping)
    return {**row, **fields}


def without(row: JSONValue, name: str) -> Mapping[str, JSONValue]:
    """A row that lacks a field."""
    assert isinstance(row, Mapping)
    return {key: value for key, value in row.items() if key != name}
