"""Pushing data over HTTP."""

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation.catalogue import SERIES, STREAMS, SUMMARIES
from aggregation.constants import BATCH_ID_MAXIMUM_CHARACTERS, SOURCE_TYPES
from aggregation.push.receipts import REFUSED_NAMED_MAXIMUM, Part
from aggregation.push.services import push_store
from aggregation.push.wire import body_take
from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import not_found
from users import selectors as user_selectors

_PLACES: Final = ", ".join(spec.slug for spec in SERIES if not spec.is_older)
_KINDS: Final = ", ".join([spec.slug for spec in SUMMARIES] + [spec.slug for spec in STREAMS])


_EXAMPLE: Final = {
    "provider": "manual",
    "source": {"type": "watch", "app_id": "com.example", "device_id": "w-1"},
    "batch_id": "2026-03-01/1",
    "time_zone": "Europe/Berlin",
    "timeseries": {
        "heartrate": [{"timestamp": "2026-03-01T17:00:00Z", "value": 121, "workout_id": "run-1"}],
        "steps": [{"start": "2026-03-01T07:00:00Z", "end": "2026-03-01T07:01:00Z", "value": 96}],
    },
    "summaries": {
        "sleep": [
            {
                "id": "night-1",
                "bedtime_start": "2026-02-28T22:00:00Z",
                "bedtime_stop": "2026-03-01T06:00:00Z",
                "type": "long_sleep",
                "duration": 28_800,
                "total": 27_000,
                "awake": 1_800,
                "light": 15_000,
                "rem": 6_000,
                "deep": 6_000,
            }
        ],
        "workouts": [
            {
                "id": "run-1",
                "sport": "running",
                "time_start": "2026-03-01T17:00:00Z",
                "time_end": "2026-03-01T17:40:00Z",
            }
        ],
        "workout_stream": [
            {"workout_id": "run-1", "time": [1_772_384_400, 1_772_384_401], "heartrate": [120, 121]},
        ],
    },
}


class PushSource(serializers.Serializer[Any]):
    """What measured."""

    type = serializers.ChoiceField(choices=SOURCE_TYPES, required=False, help_text="Absent: `unknown`.")
    app_id = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    device_id = serializers.CharField(required=False, allow_null=True, allow_blank=True)


class PushSample(serializers.Serializer[Any]):
    """A sample: `value`, or the resource's own fields. docs/push.md has both."""

    timestamp = serializers.CharField(required=False, help_text="ISO 8601; for what is of an instant.")
    start = serializers.CharField(required=False, help_text="ISO 8601; for what lasts.")
    end = serializers.CharField(required=False, help_text="ISO 8601; absent: as long as an instant.")
    value = serializers.FloatField(required=False)
    unit = serializers.CharField(required=False, help_text="Absent: the resource's own.")
    timezone_offset = serializers.IntegerField(required=False, help_text="The person's offset from UTC, seconds.")
    type = serializers.CharField(required=False)
    workout_id = serializers.CharField(required=False, help_text="What the sender calls the workout it is of.")


class PushBodyShape(serializers.Serializer[Any]):
    """A push. A resource may be called by its slug or by its name in addresses."""

    provider = serializers.CharField(
        help_text="A provider's slug: with a team key `manual`, with a session one that the device reads."
    )
    source = PushSource(required=False)  # type: ignore[assignment]  # of DRF's fields it is their own attribute
    batch_id = serializers.CharField(
        required=False,
        allow_null=True,
        min_length=1,
        max_length=BATCH_ID_MAXIMUM_CHARACTERS,
        help_text="Your name for this push; the same one again changes nothing and gets the same receipt.",
    )
    time_zone = serializers.CharField(required=False, allow_null=True, help_text="IANA name of where the person was.")
    timeseries = serializers.DictField(
        child=PushSample(many=True), required=False, allow_null=True, help_text=f"Lists by resource: {_PLACES}."
    )
    summaries = serializers.DictField(
        child=serializers.ListField(child=serializers.DictField()),
        required=False,
        allow_null=True,
        help_text=f"Lists of objects of the resource's fields, by resource: {_KINDS}.",
    )


class PushCounts(serializers.Serializer[Any]):
    """What came of one list; the four add up to its length, and those of streams to their moments."""

    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    refused = serializers.IntegerField()


class PushRefused(serializers.Serializer[Any]):
    """A record that was not stored. No value is repeated."""

    kind = serializers.ChoiceField(choices=[str(part) for part in Part])
    resource = serializers.CharField(help_text="As the push called it.")
    index = serializers.IntegerField(
        allow_null=True, help_text="Its place in its list, from 0; null where something changed at that very moment."
    )
    reason = serializers.CharField()
    loc = serializers.ListField(
        help_text="The field at fault, where one is; of a stream also the place of the first such moment."
    )
    count = serializers.IntegerField(help_text="1; of a stream the number of its moments this is of.")


class PushNote(serializers.Serializer[Any]):
    """Records that are stored, though something of them is not."""

    kind = serializers.ChoiceField(choices=[str(part) for part in Part])
    resource = serializers.CharField(help_text="As the push called it.")
    reason = serializers.CharField(help_text="`unknown_workout`: stored without the workout that they name.")
    count = serializers.IntegerField(help_text="Of how many of the list's records this is.")


class PushReceipt(serializers.Serializer[Any]):
    """What came of a push, by resource as the push called it."""

    batch_id = serializers.CharField(allow_null=True)
    stored_at = serializers.DateTimeField()
    timeseries = serializers.DictField(child=PushCounts())
    summaries = serializers.DictField(child=PushCounts())
    refused = serializers.ListField(
        child=PushRefused(),
        help_text=f"At most {REFUSED_NAMED_MAXIMUM}, shared fairly among the lists; `refused_total` counts all.",
    )
    refused_total = serializers.IntegerField()
    notes = serializers.ListField(child=PushNote(), help_text="What is to be known of records that were stored.")


class PushViewSet(ServiceViewSet):
    """Pushes. `batch_id` does what an idempotency key does elsewhere, so bodies and answers are not kept twice."""

    access = Access.SESSION_OR_TEAM
    keeps_replies = False

    @extend_schema(
        operation_id="push_data",
        summary="Push a user's data",
        request=PushBodyShape,
        examples=[OpenApiExample("A day", value=_EXAMPLE, request_only=True)],
        responses={200: PushReceipt},
        tags=["Push"],
    )
    def create(self, request: Request, user_id: UUID) -> Response:
        """Samples and summaries, stored when this answers, with a receipt that names up to 1,000 refused records.

        At most 10 MB as sent, also compressed (Content-Encoding gzip, deflate or zstd; at most 100 MB inflated), and
        at most 200,000 records, of them 5,000 summaries and streams, with 2,000,000 values. Split what is more: it is
        answered 413.
        """
        if self.principal.user_id not in (None, user_id):
            # Somebody else's device: other users do not exist for it.
            raise not_found()
        user = user_selectors.user_get(self.team, user_id)
        pushed = push_store(principal=self.principal, team=self.team, user=user, body=body_take(request._request))
        headers = {"Idempotent-Replayed": "true"} if pushed.replayed else {}
        return Response(pushed.receipt, headers=headers)
