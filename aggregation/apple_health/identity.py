"""Ids for summaries, which an export carries none of: the same night or workout gets the same id in every export."""

import uuid

from aggregation.records import DataSource

_NAMESPACE = uuid.UUID("6f0c8f0e-3a55-5c0e-9d5b-2f2b7d3f7a11")


def external_id(resource: str, source: DataSource, *parts: str | int) -> str:
    """A UUID from what names the summary in every export; a hash, since a source's name may hold a person's."""
    name = "\x1f".join((resource, source.type, source.app_id or "", source.device_id or "", *map(str, parts)))
    return str(uuid.uuid5(_NAMESPACE, name))
