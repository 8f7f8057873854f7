"""Reads about providers whose data a person's own telephone sends."""

from typing import Final
from uuid import UUID

from aggregation.catalogue import DEVICE, RESOURCES, SeriesSpec, StreamSpec
from aggregation.registry import DevicePush
from healthsvc.kernel.principal import TeamContext
from links.catalogue import LoginKind, catalogue
from links.models import Connection, DeviceSync
from links.states import ConnectionStatus

#: Kinds of login that a telephone answers for: its own store of health data, and meters that it reads.
DEVICE_LOGINS: Final = frozenset((LoginKind.APP, LoginKind.DEVICE))
#: Those, and what nobody logs in to.
MANUAL_LOGINS: Final = DEVICE_LOGINS | {LoginKind.NONE}

HISTORICAL: Final = "historical"
DAILY: Final = "daily"
STAGES: Final = (HISTORICAL, DAILY)


def _resource_names() -> dict[str, str]:
    names: dict[str, str] = {}
    for spec in RESOURCES:
        if spec is DEVICE or (isinstance(spec, SeriesSpec) and spec.is_older):
            continue
        if not isinstance(spec, StreamSpec):
            names.setdefault(spec.path, spec.slug)
        names[spec.slug] = spec.slug
    return names


#: Resources with events of their own, by their slugs and their names in addresses.
RESOURCE_NAMES: Final = _resource_names()


def is_device_side(provider: str) -> bool:
    """Whether a telephone sends the provider's data."""
    return provider in catalogue() and catalogue()[provider].login in DEVICE_LOGINS


def device_push(team: TeamContext, user_id: UUID, provider: str) -> DevicePush | None:
    """What the user's device may push for a provider: nothing unless it is connected, and not paused."""
    if not is_device_side(provider):
        return None
    living = Connection.objects.for_team(team).filter(user_id=user_id, provider=provider, disconnected_at=None)
    connection_id = living.filter(status=ConnectionStatus.CONNECTED).values_list("pk", flat=True).first()
    if connection_id is None:
        return None
    synced = DeviceSync.objects.filter(connection_id=connection_id, stage=HISTORICAL)
    return DevicePush(frozenset(synced.values_list("resource", flat=True)))
