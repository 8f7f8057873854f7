"""Summaries over HTTP, and their raw forms: one view for every resource, made of its record."""

from typing import Any, Final, cast
from uuid import UUID

from drf_spectacular.openapi import AutoSchema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation import selectors
from aggregation.catalogue import SLEEP, SummarySpec
from aggregation.models import Summary
from aggregation.serializers import (
    DataQuery,
    ProviderQuery,
    RawProfile,
    day_of,
    raws_shape,
    summaries_shape,
    summary_shape,
)
from aggregation.shapes import profile_raw_json, raw_json, summary_json
from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.openapi import ServiceSchema
from users import selectors as user_selectors

SUMMARY: Final = "summary"
RAW: Final = "raw"


class SummarySchema(ServiceSchema):
    """The OpenAPI of one summary's operations, from its record."""

    @property
    def _shown(self) -> "SummaryViewSet":
        return cast("SummaryViewSet", self.view)

    @property
    def _action(self) -> str:
        return str(self._shown.action)

    def get_operation_id(self) -> str:
        """Such as `get_sleep_summary`."""
        return f"get_{self._shown.spec.slug}_{self._action}"

    def get_summary(self) -> str:
        """Such as `Read sleep, summary`."""
        return f"Read {self._shown.spec.slug}, {self._action}"

    def get_description(self) -> str:  # type: ignore[override]  # spectacular's own form, not the one of DRF it extends
        """The resource's meaning and where it is defined, and what the operation does."""
        spec = self._shown.spec
        handler = getattr(self._shown, self._action)
        return f"{spec.meaning} {handler.__doc__} Definition: {spec.definition}"

    def get_tags(self) -> list[str]:
        """The one of all summaries."""
        return ["Summaries"]

    def get_override_parameters(self) -> list[Any]:
        """The query."""
        return [ProviderQuery if self._shown.spec.is_single else DataQuery]

    def get_response_serializers(self) -> Any:
        """The answer's shape."""
        spec = self._shown.spec
        if spec.is_single:
            return RawProfile if self._action == RAW else summary_shape(spec)
        return raws_shape(spec) if self._action == RAW else summaries_shape(spec)


class SummaryViewSet(ServiceViewSet):
    """The summaries of one resource, which the route names."""

    access = Access.TEAM
    spec: SummarySpec = SLEEP
    schema: AutoSchema = SummarySchema()

    def summary(self, request: Request, user_id: UUID) -> Response:
        """Summaries of the person's days from start_date to end_date; of a date-time its date part counts."""
        rows = selectors.summary_rows(self.team, user_id, self.spec.slug, **self._wanted(user_id))
        return Response({self.spec.answer_key or self.spec.slug: [summary_json(self.spec, row) for row in rows]})

    def raw(self, request: Request, user_id: UUID) -> Response:
        """The same in their sources' own forms, so far as those are kept."""
        rows = selectors.summaries_of_days(self.team, user_id, self.spec.slug, with_raw=True, **self._wanted(user_id))
        return Response({self.spec.answer_key or self.spec.slug: [raw_json(self.spec, row) for row in rows]})

    def _wanted(self, user_id: UUID) -> dict[str, Any]:
        query = self.query(DataQuery)
        user_selectors.user_get(self.team, user_id)
        return {
            "start_on": day_of(query["start_date"]),
            "end_on": day_of(query["end_date"]) if "end_date" in query else None,
            "provider": query["provider"],
        }


class ProfileViewSet(SummaryViewSet):
    """A summary of which a source has one for each person."""

    def summary(self, request: Request, user_id: UUID) -> Response:
        """Of several sources' the one that was revised last; 404 where there is none."""
        row = self._newest(user_id)
        return Response(summary_json(self.spec, selectors.summary_row(row)))

    def raw(self, request: Request, user_id: UUID) -> Response:
        """The same in its source's own form, so far as that is kept; 404 where there is none."""
        return Response(profile_raw_json(self._newest(user_id)))

    def _newest(self, user_id: UUID) -> Summary:
        query = self.query(ProviderQuery)
        user_selectors.user_get(self.team, user_id)
        return selectors.summary_newest(self.team, user_id, self.spec.slug, provider=query["provider"])
