"""The aggregation query over HTTP."""

from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from aggregation.planning import query_plan
from aggregation.query import QueryError, Table, query_run, render_json, render_parquet_archive
from aggregation.query_reader import StoreReader, local_now_us
from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import TeamContext
from management.selectors import team_settings
from users.models import User
from users.selectors import user_get

ARCHIVE_NAME = "query-result.tar.gz"
_CLOSED_BETA = (
    "The aggregation query is in closed beta and is not enabled for this team in this environment; "
    "whoever operates the service can enable it."
)


class AggregationResult(serializers.Serializer[Any]):
    """The answer to one query: columns of equal length, by name."""

    table = serializers.DictField(child=serializers.ListField())


class AggregationResponse(serializers.Serializer[Any]):
    """The answers, in the order of the queries."""

    results = AggregationResult(many=True)


class QueryBatch(serializers.Serializer[Any]):
    """A request of one or several queries; docs/query.md shows the language."""

    timeframe = serializers.DictField(help_text='{"type": "relative", "anchor": date, "past": {"unit", "value"}}')
    queries = serializers.ListField(
        child=serializers.DictField(), help_text='[{"select": […], "group_by": […], "where": text, "align": {…}}]'
    )
    config = serializers.DictField(
        required=False,
        allow_null=True,
        help_text='{"provider_priority_overrides": [slug], "source_mode": "priority" or "merge"}',
    )


#: What the documentation page offers to send: it works as it stands.
EXAMPLE: Final = {
    "timeframe": {"type": "relative", "anchor": "2026-03-01", "past": {"unit": "day", "value": 7}},
    "queries": [
        {
            "select": [
                {"func": "mean", "arg": {"heartrate": "value"}},
                {"func": "newest", "arg": {"heartrate": "value"}},
            ],
            "group_by": [{"arg": {"index": "heartrate"}, "date_trunc": {"unit": "hour", "value": 1}}],
            "where": "source_type = 'watch'",
        }
    ],
    "config": {"provider_priority_overrides": ["oura"]},
}


class QueryViewSet(ServiceViewSet):
    """Questions about one user's data."""

    access = Access.TEAM
    keeps_replies = False  # a question changes nothing, and its answer may be large

    @extend_schema(
        operation_id="query_one",
        summary="Query a user's data",
        request=QueryBatch,
        examples=[OpenApiExample("A week of heart rate by the hour", value=EXAMPLE, request_only=True)],
        responses={
            (200, "application/json"): AggregationResponse,
            (200, settings.PARQUET_MEDIA_TYPE): OpenApiResponse(
                OpenApiTypes.BINARY, description="A gzipped tar of 0.parquet, 1.parquet …, one a query."
            ),
        },
        tags=["Aggregation"],
    )
    def query_one(self, request: Request, user_id: UUID) -> HttpResponseBase:
        """Aggregates over samples and summaries; JSON, or a Parquet archive where Accept names its media type."""
        if not team_settings(self.team).aggregation_enabled:
            raise ServiceError(ErrorCode.NOT_ALLOWED, _CLOSED_BETA)
        user = user_get(self.team, user_id)
        try:
            tables = _answered(self.team, user, self.body_object())
        except QueryError as error:
            raise _refusal(error) from None
        if _wants_archive(request.headers.get("Accept", "")):
            response = StreamingHttpResponse(render_parquet_archive(tables), content_type=settings.PARQUET_MEDIA_TYPE)
            response["Content-Disposition"] = f'attachment; filename="{ARCHIVE_NAME}"'
            return response
        return HttpResponse(render_json(tables), content_type="application/json")


def _answered(team: TeamContext, user: User, body: object) -> list[Table]:
    plan = query_plan(team, body)
    reader = StoreReader(team, user, rows_maximum=plan.budget.max_rows, order=plan.order)
    return query_run(plan, reader, now_us=local_now_us(user))


def _refusal(error: QueryError) -> ServiceError:
    problems = [Problem(problem.loc, problem.msg, str(problem.type)) for problem in error.problems]
    return invalid(problems, ErrorCode.QUERY_BUDGET_EXCEEDED if error.is_budget else ErrorCode.VALIDATION_FAILED)


def _wants_archive(accept: str) -> bool:
    """Whether the archive is asked for by its name, and no less than JSON; whatever else is asked for gets JSON."""
    wanted = {name: quality for name, quality in map(_media_range, accept.split(",")) if quality > 0}
    archive = wanted.get(settings.PARQUET_MEDIA_TYPE.lower())
    return archive is not None and archive >= wanted.get("application/json", 0.0)


def _media_range(part: str) -> tuple[str, float]:
    """A media range of an Accept header and its weight; a weight that can't be read counts as the highest."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weights = [piece.removeprefix("q=") for piece in parameters if piece.startswith("q=")]
    try:
        return name, float(weights[0]) if weights else 1.0
    except ValueError:
        return name, 1.0
