"""What was pulled of whom, over HTTP."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from django.conf import settings
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation.introspection import users_page
from aggregation.serializers import IntrospectionQuery
from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject
from links.introspection import HistoricalPull, UserPulls, historical_pulls
from links.states import PullStatus

Serializer = serializers.Serializer[Any]

#: The API's words for why a pull failed or waits; what is none of them can't be mended by trying again.
ERROR_DETAILS: Final = (
    "provider_rate_limit_exceeded",
    "provider_unavailable",
    "transport_failure",
    "resource_contention",
    "non_retriable_error",
    "unexpected_error",
    "retry_quota_exhausted",
)
_OTHER_ERROR: Final = "non_retriable_error"
#: What the API has no word of its own for, though it is tried again.
_NEAREST: Final = {"provider_forbidden": "provider_unavailable"}


class HistoricalPullTimeline(Serializer):
    """When a pull was owed, begun and ended."""

    scheduled_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True, help_text="Null until a worker has begun.")
    ended_at = serializers.DateTimeField(allow_null=True)


class SingleHistoricalPullStatistics(Serializer):
    """The first pull of one resource."""

    status = serializers.CharField(help_text="scheduled, in_progress, retrying, success or failure")
    range_start = serializers.DateTimeField()
    range_end = serializers.DateTimeField(help_text="The end, not included.")
    timeline = HistoricalPullTimeline()
    days_with_data = serializers.IntegerField(help_text="Days of the range of which there are data.")
    release = serializers.CharField(help_text="The service's version.")
    trace_id = serializers.CharField(help_text="Names the pull in the service's logs.")
    error_details = serializers.CharField(allow_null=True, help_text=f"One of {', '.join(ERROR_DETAILS)}.")


class SingleProviderHistoricalPullResponse(Serializer):
    """First pulls of one provider by resource, and what it has that was never asked for."""

    pulled = serializers.DictField(child=SingleHistoricalPullStatistics())
    not_pulled = serializers.ListField(child=serializers.CharField())


class SingleUserHistoricalPullResponse(Serializer):
    """First pulls of one user by provider."""

    user_id = serializers.UUIDField()
    provider = serializers.DictField(child=SingleProviderHistoricalPullResponse())


@extend_schema_serializer(component_name="UserHistoricalPullsResponse")
class HistoricalPullsAnswer(Serializer):
    """First pulls by user."""

    data = SingleUserHistoricalPullResponse(many=True)  # type: ignore[assignment]  # the API names it so
    next_cursor = serializers.CharField(allow_null=True, help_text="Where the next page begins; null on the last.")
    next = serializers.CharField(allow_null=True, help_text="Deprecated: the same as `next_cursor`.")


class HistoricalPullViewSet(ServiceViewSet):
    """What was pulled of the team's users."""

    access = Access.TEAM

    @extend_schema(
        operation_id="introspect_historical_pull",
        summary="See how the first pulls of each user went",
        parameters=[IntrospectionQuery],
        responses=HistoricalPullsAnswer,
        tags=["Introspection"],
    )
    def list(self, request: Request) -> Response:
        """The last first pull of each resource of each provider; users who were never connected are left out."""
        query = self.query(IntrospectionQuery)
        page = users_page(
            self.team,
            user_id=query.get("user_id"),
            cursor=query.get("next_cursor") or query.get("cursor"),
            limit=query["user_limit"],
            filters=("historical_pull", query["provider"]),
        )
        self.users_named(page.user_ids)
        found = historical_pulls(self.team, page.user_ids, query["provider"])
        return Response(
            {
                "data": [_user_json(one) for one in found],
                "next_cursor": page.next_cursor,
                "next": page.next_cursor,
            }
        )


def _user_json(found: UserPulls) -> JSONObject:
    return {
        "user_id": str(found.user_id),
        "provider": {
            slug: {
                "pulled": {resource: _pull_json(pull) for resource, pull in one.pulled.items()},
                "not_pulled": list(one.not_pulled),
            }
            for slug, one in found.providers.items()
        },
    }


def _pull_json(pull: HistoricalPull) -> JSONObject:
    return {
        "status": pull.status.value,
        "range_start": _midnight(pull.start_on),
        "range_end": _midnight(pull.end_on + timedelta(days=1)),
        "timeline": {
            "scheduled_at": utc_text(pull.scheduled_at),
            "started_at": _instant(pull.started_at),
            "ended_at": _instant(pull.ended_at),
        },
        "days_with_data": pull.days_with_data,
        "release": str(settings.SPECTACULAR_SETTINGS["VERSION"]),
        "trace_id": str(pull.id),
        "error_details": _error_details(pull),
    }


def _error_details(pull: HistoricalPull) -> str | None:
    if pull.status not in (PullStatus.FAILURE, PullStatus.RETRYING):
        return None
    told = _NEAREST.get(pull.error_code, pull.error_code)
    return told if told in ERROR_DETAILS else _OTHER_ERROR


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else utc_text(moment)


def _midnight(day: date) -> str:
    return utc_text(datetime.combine(day, time(), UTC))
