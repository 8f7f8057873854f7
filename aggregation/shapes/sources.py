"""Where data come from, as the API and its events show it."""

from typing import Final
from uuid import UUID, uuid5

from aggregation import registry
from aggregation.records import DataSource
from healthsvc.kernel.typing import JSONObject

#: Names the space of device ids that are made of what a sender calls a device.
_DEVICES: Final = UUID("6f9d2c1e-7b1d-4f0e-9a64-52b06f5c8d31")


def device_uuid(user_id: UUID, provider: str, device_id: str | None) -> UUID | None:
    """The id under which the API shows a device: a sender's own where it is a UUID, else one made of its name."""
    if not device_id:
        return None
    try:
        return UUID(device_id)
    except ValueError:
        return uuid5(_DEVICES, f"{user_id}/{provider}/{device_id}")


def device_id_text(user_id: UUID, source: DataSource) -> str | None:
    """The id of a source's device as a text; None where the source names none."""
    found = device_uuid(user_id, source.provider, source.device_id)
    return None if found is None else str(found)


def source_json(
    user_id: UUID, source: DataSource, *, workout_id: UUID | None = None, sport: str | None = None
) -> JSONObject:
    """Where data come from, with the interface's fields (name, slug, logo) and the newer ones."""
    return {
        "provider": source.provider,
        "type": source.type,
        "app_id": source.app_id,
        "device_id": device_id_text(user_id, source),
        "workout_id": None if workout_id is None else str(workout_id),
        "sport": sport,
        **provider_json(source.provider),
    }


def provider_json(slug: str) -> JSONObject:
    """A provider as others show it."""
    named = registry.provider_name(slug)
    return {"name": named.name, "slug": slug, "logo": named.logo}
