"""Withings' devices as the service's records.

Shape: Withings public API reference, operation `userv2-getdevice`. Read, not exercised against a live account.
"""

from aggregation.records import UNDATED, DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import MalformedError, document, optional_text, optional_whole, refusing
from links.connectors.withings.catalogue import source_type_of


@refusing("device")
def device_from_device(payload: JSONValue) -> SummaryRecord:
    """One device of the account. Its hardware address and advertising key stay where they are."""
    item = document(payload)
    identity = optional_text(item, "hash_deviceid") or optional_text(item, "deviceid")
    if identity is None:
        raise MalformedError("missing_field:deviceid")
    model = optional_whole(item, "model_id")
    kind = "unknown" if model is None else source_type_of(model)
    return SummaryRecord(
        resource="device",
        source=DataSource("withings", kind, device_id=identity),
        external_id=identity,
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={
            "device_manufacturer": "Withings",
            "device_model": optional_text(item, "model"),
            "device_version": optional_text(item, "fw"),
        },
        raw={name: value for name, value in item.items() if name not in _LEFT_OUT},
    )


_LEFT_OUT = frozenset(("mac_address", "advertise_key", "network", "last_used_network"))
