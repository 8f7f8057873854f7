"""Timeseries over HTTP: one view for every resource, made of its record."""

from datetime import UTC, datetime
from typing import Any, ClassVar, Final, cast
from uuid import UUID

import orjson
from drf_spectacular.openapi import AutoSchema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation import selectors
from aggregation.catalogue import HEARTRATE, SeriesSpec
from aggregation.codec import BlockColumns
from aggregation.constants import PAGE_SAMPLES_MAXIMUM
from aggregation.serializers import DataQuery, TimeseriesQuery, grouped_shape, sample_shape, window_of
from aggregation.shapes import groups_json, samples_json
from healthsvc.kernel.api import Access, Deprecation, ServiceViewSet
from healthsvc.kernel.openapi import ServiceSchema
from users import selectors as user_selectors

GROUPED: Final = "grouped"
UNGROUPED: Final = "ungrouped"


class TimeseriesSchema(ServiceSchema):
    """The OpenAPI of one timeseries' operations, from its record."""

    @property
    def _shown(self) -> "TimeseriesViewSet":
        return cast("TimeseriesViewSet", self.view)

    @property
    def _action(self) -> str:
        return str(self._shown.action)

    @property
    def _words(self) -> list[str]:
        return [self._shown.spec.slug, *filter(None, [self._shown.only_type])]

    def get_operation_id(self) -> str:
        """Such as `get_heartrate_grouped`."""
        return "_".join(["get", *self._words, self._action])

    def get_summary(self) -> str:
        """Such as `Read heartrate, grouped`."""
        return f"Read {' '.join(self._words)}, {self._action}"

    def get_description(self) -> str:  # type: ignore[override]  # spectacular's own form, not the one of DRF it extends
        """The resource's meaning and where it is defined, and what the operation does."""
        spec = self._shown.spec
        handler = getattr(self._shown, self._action)
        only = f" Only samples of type `{self._shown.only_type}`." if self._shown.only_type else ""
        return f"{spec.meaning} {handler.__doc__}{only} Definition: {spec.definition}"

    def get_tags(self) -> list[str]:
        """The one of all timeseries."""
        return ["Timeseries"]

    def is_deprecated(self) -> bool:
        """Whether the view says so."""
        return self._action in self._shown.deprecation

    def get_override_parameters(self) -> list[Any]:
        """The query."""
        return [TimeseriesQuery if self._action == GROUPED else DataQuery]

    def get_response_serializers(self) -> Any:
        """The answer's shape."""
        spec = self._shown.spec
        return grouped_shape(spec) if self._action == GROUPED else sample_shape(spec)(many=True)


class TimeseriesViewSet(ServiceViewSet):
    """The samples of one resource, of one type where the route names one."""

    access = Access.TEAM
    spec: SeriesSpec = HEARTRATE
    only_type: str = ""
    schema: AutoSchema = TimeseriesSchema()
    deprecation: ClassVar = {UNGROUPED: Deprecation(since=datetime(2026, 1, 1, tzinfo=UTC))}

    def grouped(self, request: Request, user_id: UUID) -> Response:
        """Samples by provider and source, each source in order of time, in pages of 50,000."""
        query = self.query(TimeseriesQuery)
        wanted = self._wanted(user_id, query)
        cursor = query.get("next_cursor") or query.get("cursor")
        page = self._page(wanted, selectors.cursor_read(wanted, cursor) if cursor else None)
        next_cursor = None if page.next is None else selectors.cursor_make(wanted, page.next)
        return Response(
            {"groups": groups_json(user_id, self.spec, page.groups), "next_cursor": next_cursor, "next": next_cursor}
        )

    def ungrouped(self, request: Request, user_id: UUID) -> Response:
        """All samples in order of time, without their sources. Deprecated: use the grouped read."""
        block = self._flat(self._wanted(user_id, self.query(DataQuery)))
        return Response([] if block is None else orjson.Fragment(samples_json(self.spec, block)))

    def _wanted(self, user_id: UUID, query: dict[str, Any]) -> selectors.SampleQuery:
        user = user_selectors.user_get(self.team, user_id)
        return selectors.SampleQuery(user, self.spec, window_of(query), query["provider"], self.only_type)

    def _page(self, wanted: selectors.SampleQuery, after: selectors.Position | None) -> selectors.SamplePage:
        return selectors.sample_page(self.team, wanted, after=after, limit=PAGE_SAMPLES_MAXIMUM)

    def _flat(self, wanted: selectors.SampleQuery) -> BlockColumns | None:
        return selectors.samples_flat(self.team, wanted)


class HypnogramViewSet(TimeseriesViewSet):
    """Stages of sleep, which are not kept as samples but made of the sleep cycles."""

    spec = selectors.HYPNOGRAM

    def _page(self, wanted: selectors.SampleQuery, after: selectors.Position | None) -> selectors.SamplePage:
        return selectors.hypnogram_page(self.team, wanted, after=after, limit=PAGE_SAMPLES_MAXIMUM)

    def _flat(self, wanted: selectors.SampleQuery) -> BlockColumns | None:
        return selectors.hypnogram_flat(self.team, wanted)
