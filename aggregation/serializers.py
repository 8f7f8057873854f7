"""Shapes of health data in and out. Those of single resources are made from the records of the catalogue."""

import re
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from aggregation.catalogue import FieldKind, FieldSpec, SeriesKind, SeriesSpec, SummarySpec
from aggregation.constants import EARLIEST_US, LATEST_US
from aggregation.store.days import DAY_US, FOREVER, Moment, Window, us_of_day, us_of_instant
from healthsvc.kernel.fields import TextField
from healthsvc.kernel.typing import JSONObject
from management.constants import JobStatus
from management.models import BackgroundJob

Serializer = serializers.Serializer[Any]

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATES_HELP: Final = "YYYY-MM-DD, a day on the person's own clock; or an ISO 8601 date-time."


@extend_schema_field({"type": "string", "examples": ["2026-03-01", "2026-03-01T08:00:00+00:00"]})
class DateOrInstantField(TextField):
    """A day, or a date-time with an offset from UTC, or one without, which is of the person's own clock."""

    default_error_messages = {"date_type": "Must be YYYY-MM-DD or an ISO 8601 date-time."}

    def to_internal_value(self, data: Any) -> Any:
        """A `date` or a `datetime`."""
        # An unescaped + in an address arrives as a space.
        text = re.sub(r" (\d{2}:?\d{2})$", r"+\1", super().to_internal_value(data))
        try:
            value = date.fromisoformat(text) if _DATE.fullmatch(text) else datetime.fromisoformat(text)
            in_reach = EARLIEST_US <= _us_of(value) < LATEST_US
        except (ValueError, OverflowError):
            self.fail("date_type")
        if not in_reach or len(text) < 10:
            self.fail("date_type")
        return value


def _us_of(value: date) -> int:
    if isinstance(value, datetime):
        return us_of_instant(value if value.tzinfo else value.replace(tzinfo=UTC))
    return us_of_day(value)


class DataQuery(Serializer):
    """What of a resource is wanted. Both ends are included."""

    start_date = DateOrInstantField(help_text=f"From. {_DATES_HELP}")
    end_date = DateOrInstantField(required=False, help_text=f"Until, included. {_DATES_HELP}")
    provider = serializers.RegexField(
        r"^[a-z0-9_]{0,60}$", required=False, allow_blank=True, default="", help_text="Slug of one provider."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The end may not lie before the start."""
        end = attrs.get("end_date")
        if end is not None and _us_of(end) + (0 if isinstance(end, datetime) else DAY_US) <= _us_of(
            attrs["start_date"]
        ):
            raise serializers.ValidationError({"end_date": ["Must not be before start_date."]})
        return attrs


class TimeseriesQuery(DataQuery):
    """What of a timeseries is wanted, and from where on."""

    next_cursor = TextField(required=False, max_length=100, help_text="The `next_cursor` of the page before.")
    cursor = TextField(required=False, max_length=100, help_text="Deprecated: the older name of `next_cursor`.")


def window_of(query: dict[str, Any]) -> Window:
    """The stretch of time that a validated query asks for."""
    start, end = query["start_date"], query.get("end_date")
    return Window(_moment(start), FOREVER if end is None else _moment(end, last=True))


def _moment(value: date, *, last: bool = False) -> Moment:
    whole_day = not isinstance(value, datetime)
    local = whole_day or (isinstance(value, datetime) and value.tzinfo is None)
    return Moment(_us_of(value) + (DAY_US - 1 if last and whole_day else 0), local)


def day_of(value: date) -> date:
    """The day of a date, or the date part of a date-time as it was written."""
    return value.date() if isinstance(value, datetime) else value


class ClientFacingSource(Serializer):
    """Where data come from. `name`, `slug` and `logo` are the older fields."""

    provider = serializers.CharField()
    type = serializers.CharField()
    app_id = serializers.CharField(allow_null=True)
    device_id = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    slug = serializers.CharField()
    logo = serializers.CharField(allow_blank=True)


class ClientFacingSport(Serializer):
    """A sport."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    slug = serializers.CharField()


def _made(name: str, meaning: str, fields: dict[str, Any]) -> type[Serializer]:
    return type(name, (serializers.Serializer,), {"__doc__": meaning, "__module__": __name__, **fields})


@lru_cache(maxsize=100)
def sample_shape(spec: SeriesSpec) -> type[Serializer]:
    """One sample of a timeseries."""
    fields: dict[str, Any] = {"timestamp": serializers.DateTimeField(help_text="When it was measured, or began.")}
    if spec.kind is SeriesKind.INTERVAL:
        fields["start"] = serializers.DateTimeField(help_text="When it began.")
        fields["end"] = serializers.DateTimeField(help_text="When it ended.")
    fields["timezone_offset"] = serializers.IntegerField(allow_null=True, help_text="Offset from UTC, seconds.")
    fields["type"] = serializers.CharField(allow_null=True)
    fields["unit"] = serializers.CharField(help_text=f"Always `{spec.unit}`.")
    fields["value"] = serializers.FloatField(help_text=spec.meaning)
    return _made(f"ClientFacing{spec.model}Timeseries", spec.meaning, fields)


@lru_cache(maxsize=100)
def grouped_shape(spec: SeriesSpec) -> type[Serializer]:
    """A page of a timeseries, by provider and source."""
    group = _made(
        f"{spec.model}Group",
        "Samples of one source, in order of time.",
        {"source": ClientFacingSource(), "data": sample_shape(spec)(many=True)},
    )
    cursor = serializers.CharField(allow_null=True, help_text="Where the next page begins; null on the last.")
    return _made(
        f"Grouped{spec.model}Response",
        f"{spec.meaning} Samples by provider.",
        {
            "groups": serializers.DictField(child=group(many=True)),
            "next_cursor": cursor,
            "next": serializers.CharField(allow_null=True, help_text="Deprecated: the same as `next_cursor`."),
        },
    )


@lru_cache(maxsize=100)
def summary_shape(spec: SummarySpec) -> type[Serializer]:
    """One summary of a resource."""
    fields: dict[str, Any] = {
        "id": serializers.UUIDField(),
        "user_id": serializers.UUIDField(),
        "calendar_date": serializers.DateField(help_text="The person's own day."),
    }
    if spec.dated:
        fields["date"] = serializers.DateTimeField(help_text="Deprecated: midnight UTC of `calendar_date`.")
    fields.update({field.name: _field_shape(spec, field) for field in spec.fields})
    fields["source"] = ClientFacingSource()
    fields["created_at"] = serializers.DateTimeField()
    fields["updated_at"] = serializers.DateTimeField()
    return _made(spec.model, spec.meaning, fields)


@lru_cache(maxsize=100)
def summaries_shape(spec: SummarySpec) -> type[Serializer]:
    """Summaries of a resource."""
    words = spec.model.removeprefix("ClientFacing")
    return _made(f"Client{words}Response", f"{spec.meaning} In order.", {spec.slug: summary_shape(spec)(many=True)})


_FIELD_SHAPES: Final[dict[FieldKind, type[serializers.Field[Any, Any, Any, Any]]]] = {
    FieldKind.NUMBER: serializers.FloatField,
    FieldKind.WHOLE: serializers.IntegerField,
    FieldKind.TEXT: serializers.CharField,
    FieldKind.INSTANT: serializers.DateTimeField,
    FieldKind.FLAG: serializers.BooleanField,
}


def _field_shape(spec: SummarySpec, field: FieldSpec) -> Any:
    values: dict[str, Any] = {"allow_null": not field.required, "help_text": field.meaning}
    if field.kind is FieldKind.SPORT:
        return ClientFacingSport(**values)
    if field.kind is FieldKind.WHOLES:
        return serializers.ListField(child=serializers.IntegerField(), **values)
    if field.kind is FieldKind.OBJECT:
        name = f"{spec.model}{field.name.title().replace('_', '')}"
        members = {member.name: _field_shape(spec, member) for member in field.members}
        return _made(name, field.meaning, members)(**values)
    return _FIELD_SHAPES[field.kind](**values)


class ImportAccepted(Serializer):
    """An import that was taken on."""

    job_id = serializers.UUIDField()
    status = serializers.CharField()


class ImportProgress(Serializer):
    """How far an import is, in bytes of the file."""

    done = serializers.IntegerField()
    total = serializers.IntegerField()


class ImportRefusal(Serializer):
    """Records that were not stored: the export's own type name, and why."""

    kind = serializers.CharField()
    reason = serializers.CharField()
    count = serializers.IntegerField()


class ImportReceipt(Serializer):
    """What an import did: records read by the export's type names; stored, replaced, unchanged by resource."""

    read = serializers.DictField(child=serializers.IntegerField())
    stored = serializers.DictField(child=serializers.IntegerField())
    replaced = serializers.DictField(child=serializers.IntegerField())
    unchanged = serializers.DictField(child=serializers.IntegerField())
    refused = ImportRefusal(many=True)


class ImportAnswer(Serializer):
    """Where an import stands. `status` is queued, running, succeeded or failed."""

    job_id = serializers.UUIDField()
    status = serializers.CharField()
    progress = ImportProgress()
    receipt = ImportReceipt(allow_null=True)
    error_code = serializers.CharField(allow_null=True, help_text="Why the file as a whole was refused.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


def import_json(job: BackgroundJob) -> JSONObject:
    """What `ImportAnswer` describes."""
    ended = job.status in (JobStatus.SUCCEEDED, JobStatus.FAILED)
    return {
        "job_id": str(job.pk),
        "status": str(job.status),
        "progress": {"done": job.progress_done, "total": job.progress_total},
        "receipt": job.receipt if ended and job.receipt else None,
        "error_code": job.error_code or None,
        "created_at": job.created_at.isoformat(),
        "ended_at": job.ended_at.isoformat() if job.ended_at else None,
    }
