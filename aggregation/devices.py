"""The ids under which devices are shown."""

from typing import Final
from uuid import UUID, uuid5

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
