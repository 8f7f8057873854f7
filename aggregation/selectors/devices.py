"""The devices that a person's data came from."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from aggregation.catalogue import DEVICE
from aggregation.devices import device_uuid
from aggregation.models import Series, Summary
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.typing import JSONObject

UNKNOWN: Final = "unknown"
MULTIPLE: Final = "multiple_sources"


@dataclass(frozen=True, slots=True)
class Device:
    """A device: what the data that name it say it is, which apps sent them, and what its source tells of it.

    told: the fields of the resource `device`, empty where the source tells nothing. raw: the source's own form, else
    `told`.
    """

    provider: str
    device_id: str
    source_types: tuple[str, ...]
    app_ids: tuple[str, ...]
    told: JSONObject
    raw: JSONObject

    @property
    def source_type(self) -> str:
        """The one thing it is."""
        known = [kind for kind in self.source_types if kind != UNKNOWN]
        return MULTIPLE if len(known) > 1 else next(iter(known), UNKNOWN)


def devices_of(team: TeamContext, user_id: UUID, provider: str = "") -> list[Device]:
    """Every device that a sample or a summary names, by provider and name. Three statements."""
    series = _of_provider(Series.objects.for_team(team).filter(user_id=user_id), provider)
    summaries = _of_provider(Summary.objects.for_team(team).filter(user_id=user_id), provider)
    seen: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for slug, device_id, source_type, app_id in {*_named(series), *_named(summaries)}:
        types, apps = seen.setdefault((slug, device_id), (set(), set()))
        types.add(source_type)
        apps.update({app_id} - {""})
    told = {(row.provider, row.device_id): row for row in summaries.filter(resource=DEVICE.slug)}
    found: list[Device] = []
    for (slug, device_id), (types, apps) in sorted(seen.items()):
        row = told.get((slug, device_id))
        fields, raw = (row.payload, row.raw or row.payload) if row else ({}, {})
        found.append(Device(slug, device_id, tuple(sorted(types)), tuple(sorted(apps)), fields, raw))
    return found


def device_get(team: TeamContext, user_id: UUID, device_id: UUID) -> Device:
    """The device that is shown under an id; 404 where there is none."""
    for device in devices_of(team, user_id):
        if device_uuid(user_id, device.provider, device.device_id) == device_id:
            return device
    raise not_found()


def _of_provider(rows: "QuerySet[Any]", provider: str) -> "QuerySet[Any]":
    return rows.filter(provider=provider) if provider else rows


def _named(rows: "QuerySet[Any]") -> list[tuple[str, str, str, str]]:
    found = rows.exclude(device_id="").values_list("provider", "device_id", "source_type", "app_id")
    return list(found.distinct().order_by())
