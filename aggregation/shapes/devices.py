"""Devices as the API shows them."""

from uuid import UUID

from aggregation.catalogue import DEVICE
from aggregation.constants import SOURCE_ID_UNLISTED, SOURCE_IDS
from aggregation.devices import device_uuid
from aggregation.selectors import Device
from aggregation.shapes.sources import provider_json
from healthsvc.kernel.typing import JSONObject


def device_json(user_id: UUID, device: Device) -> JSONObject:
    """A device with what its source tells of it."""
    return {
        "id": str(device_uuid(user_id, device.provider, device.device_id)),
        "user_id": str(user_id),
        "provider": device.provider,
        "source_type": device.source_type,
        "app_id": next(iter(device.app_ids), None),
        "device_id": device.device_id,
        **{field.name: device.told.get(field.name) for field in DEVICE.fields},
    }


def device_raw_json(user_id: UUID, device: Device) -> JSONObject:
    """A device with what its data say of it."""
    return {
        "id": str(device_uuid(user_id, device.provider, device.device_id)),
        "user_id": str(user_id),
        "provider_id": device.device_id,
        "source_id": SOURCE_IDS.get(device.provider, SOURCE_ID_UNLISTED),
        "data": {
            **device.raw,
            "device_id": device.device_id,
            "source_types": list(device.source_types),
            "app_ids": list(device.app_ids),
        },
        "source": provider_json(device.provider),
    }
