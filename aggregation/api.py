"""Health data over HTTP: timeseries, summaries, imports."""

from datetime import UTC, datetime
from typing import Any, ClassVar, cast
from uuid import UUID

import orjson
from django.conf import settings
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation import imports, selectors
from aggregation.catalogue import HEARTRATE, SLEEP, SeriesSpec, SummarySpec
from aggregation.constants import PAGE_SAMPLES_MAXIMUM
from aggregation.serializers import (
    DataQuery,
    ImportAccepted,
    ImportAnswer,
    TimeseriesQuery,
    day_of,
    grouped_shape,
    import_json,
    sample_shape,
    summaries_shape,
    window_of,
)
from aggregation.shapes import groups_json, samples_json, summary_json
from aggregation.uploads import FILE_TYPES, FORM, upload_chunks
from healthsvc.kernel.api import Access, Deprecation, ServiceViewSet
from healthsvc.kernel.openapi import ServiceSchema
from users import selectors as user_selectors

GROUPED, UNGROUPED, SUMMARY = "grouped", "ungrouped", "summary"


class ResourceSchema(ServiceSchema):
    """The OpenAPI of one resource's operations, from its record."""

    @property
    def _shown(self) -> "TimeseriesViewSet | SummaryViewSet":
        return cast("TimeseriesViewSet | SummaryViewSet", self.view)

    @property
    def _action(self) -> str:
        return str(self._shown.action)

    def get_operation_id(self) -> str:
        """Such as `get_heartrate_grouped`."""
        return f"get_{self._shown.spec.slug}_{self._action}"

    def get_summary(self) -> str:
        """Such as `Read heartrate, grouped`."""
        return f"Read {self._shown.spec.slug}, {self._action}"

    def get_description(self) -> str:  # type: ignore[override]  # spectacular's own form, not the one of DRF it extends
        """The resource's meaning and where it is defined, and what the operation does."""
        spec = self._shown.spec
        handler = getattr(self._shown, self._action)
        return f"{spec.meaning} {handler.__doc__} Definition: {spec.definition}"

    def get_tags(self) -> list[str]:
        """Timeseries or summaries."""
        return ["Timeseries" if isinstance(self._shown.spec, SeriesSpec) else "Summaries"]

    def is_deprecated(self) -> bool:
        """Whether the view says so."""
        return self._action in self._shown.deprecation

    def get_override_parameters(self) -> list[Any]:
        """The query."""
        return [TimeseriesQuery if self._action == GROUPED else DataQuery]

    def get_response_serializers(self) -> Any:
        """The answer's shape."""
        spec = self._shown.spec
        if isinstance(spec, SummarySpec):
            return summaries_shape(spec)
        return grouped_shape(spec) if self._action == GROUPED else sample_shape(spec)(many=True)


class TimeseriesViewSet(ServiceViewSet):
    """The samples of one resource, which the route names."""

    access = Access.TEAM
    spec: SeriesSpec = HEARTRATE
    schema: AutoSchema = ResourceSchema()
    deprecation: ClassVar = {UNGROUPED: Deprecation(since=datetime(2026, 1, 1, tzinfo=UTC))}

    def grouped(self, request: Request, user_id: UUID) -> Response:
        """Samples by provider and source, each source in order of time, in pages of 50,000."""
        query = self.query(TimeseriesQuery)
        wanted = self._wanted(user_id, query)
        cursor = query.get("next_cursor") or query.get("cursor")
        after = selectors.cursor_read(wanted, cursor) if cursor else None
        page = selectors.sample_page(self.team, wanted, after=after, limit=PAGE_SAMPLES_MAXIMUM)
        next_cursor = None if page.next is None else selectors.cursor_make(wanted, page.next)
        return Response(
            {"groups": groups_json(self.spec, page.groups), "next_cursor": next_cursor, "next": next_cursor}
        )

    def ungrouped(self, request: Request, user_id: UUID) -> Response:
        """All samples in order of time, without their sources. Deprecated: use the grouped read."""
        block = selectors.samples_flat(self.team, self._wanted(user_id, self.query(DataQuery)))
        return Response([] if block is None else orjson.Fragment(samples_json(self.spec, block)))

    def _wanted(self, user_id: UUID, query: dict[str, Any]) -> selectors.SampleQuery:
        user = user_selectors.user_get(self.team, user_id)
        return selectors.SampleQuery(user, self.spec, window_of(query), query["provider"])


class SummaryViewSet(ServiceViewSet):
    """The summaries of one resource, which the route names."""

    access = Access.TEAM
    spec: SummarySpec = SLEEP
    schema: AutoSchema = ResourceSchema()

    def summary(self, request: Request, user_id: UUID) -> Response:
        """Summaries of the person's days from start_date to end_date; of a date-time its date part counts."""
        query = self.query(DataQuery)
        user_selectors.user_get(self.team, user_id)
        rows = selectors.summary_rows(
            self.team,
            user_id,
            self.spec.slug,
            start_on=day_of(query["start_date"]),
            end_on=day_of(query["end_date"]) if "end_date" in query else None,
            provider=query["provider"],
        )
        return Response({self.spec.slug: [summary_json(self.spec, row) for row in rows]})


_FILE = {"type": "string", "format": "binary"}


class ImportViewSet(ServiceViewSet):
    """Imports of export files. The file is its own identity: importing it again changes nothing."""

    access = Access.TEAM
    keeps_replies = False

    @extend_schema(
        operation_id="import_apple_health",
        summary="Import an Apple Health export",
        request={
            FORM: {"type": "object", "required": ["file"], "properties": {"file": _FILE}},
            **dict.fromkeys(FILE_TYPES, _FILE),
        },
        responses={202: ImportAccepted},
        tags=["Imports"],
    )
    def create(self, request: Request, user_id: UUID) -> Response:
        """Takes export.zip or export.xml, as the body or as a form's file, and imports it in the background."""
        limit_bytes = settings.EXPORT_MAXIMUM_BYTES
        chunks = upload_chunks(request._request, limit_bytes=limit_bytes)
        job = imports.import_accept(team=self.team, user_id=user_id, chunks=chunks)
        location = f"/v2/user/{user_id}/import/{job.pk}"
        return Response({"job_id": str(job.pk), "status": str(job.status)}, status=202, headers={"Location": location})

    @extend_schema(
        operation_id="get_import",
        summary="See how far an import is, and what it did",
        responses=ImportAnswer,
        tags=["Imports"],
    )
    def retrieve(self, request: Request, user_id: UUID, job_id: UUID) -> Response:
        """Progress while it runs; the receipt once it has ended."""
        user_selectors.user_get(self.team, user_id)
        return Response(import_json(selectors.import_get(self.team, user_id, job_id)))
