"""Where data come from, as the API and its events show it."""

from uuid import UUID

from aggregation import registry
from aggregation.devices import device_uuid
from aggregation.records import DataSource
from healthsvc.kernel.typing import JSONObject


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
