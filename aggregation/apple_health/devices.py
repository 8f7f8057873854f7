"""The devices that recorded something, as device summaries."""

from collections.abc import Iterator
from datetime import date

from aggregation.apple_health.identity import external_id
from aggregation.apple_health.record import Record
from aggregation.apple_health.sources import Device
from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue

RESOURCE = "device"


class DeviceBuffer:
    """Holds devices, one for each source, until the export ends, no more than `max_devices`."""

    def __init__(self, max_devices: int) -> None:
        self._max_devices = max_devices
        self._devices: dict[DataSource, Device] = {}

    def note(self, record: Record) -> None:
        """Note whose device recorded this; of several software versions the one met last stays."""
        if record.device is not None and (record.source in self._devices or len(self._devices) < self._max_devices):
            self._devices[record.source] = record.device

    def items(self, seen_on: date) -> Iterator[SummaryRecord]:
        """Every device. Empties the buffer."""
        devices, self._devices = self._devices, {}
        for source, device in devices.items():
            fields: dict[str, JSONValue] = {
                "device_manufacturer": device.manufacturer or None,
                "device_model": device.model or None,
                "device_version": device.version or None,
            }
            yield SummaryRecord(
                resource=RESOURCE,
                source=source,
                external_id=external_id(RESOURCE, source, device.id),
                calendar_date=seen_on,
                starts_at=None,
                ends_at=None,
                timezone_offset_seconds=None,
                fields={name: value for name, value in fields.items() if value is not None},
            )
