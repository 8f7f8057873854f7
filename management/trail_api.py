"""The management address: a team's audit trail with its seals, and what was changed in the organisation."""

from typing import Final

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel import clock
from management import trail_selectors
from management.constants import PAGE_SIZE
from management.organisation_base import OrganisationPathViewSet
from management.team_base import ENVIRONMENT_PARAMETER, TeamPathViewSet
from management.trail_export import ExportFormat, export_chunks
from management.trail_selectors import AccessFilters
from management.trail_serializers import (
    AccessExportQuery,
    AccessListAnswer,
    AccessListQuery,
    OrganisationRecordListAnswer,
    OrganisationRecordQuery,
    SealListAnswer,
    SealListQuery,
    VerificationAnswer,
    VerificationQuery,
    access_list_json,
    organisation_record_json,
    seal_list_json,
    verification_json,
)
from management.trail_verification import trail_verify

_TAGS: Final = ["Audit trail"]


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class AccessRecordViewSet(TeamPathViewSet):
    """Who read or changed the data of a team's people."""

    @extend_schema(
        operation_id="list_access_records",
        summary="List who read or changed what",
        parameters=[AccessListQuery],
        responses=AccessListAnswer,
        tags=_TAGS,
    )
    def list(self, request: Request) -> Response:
        """The team's trail, newest first. Filters combine."""
        query = self.query(AccessListQuery)
        cursor, limit = query.pop("next_cursor", None), query.pop("limit")
        page = trail_selectors.access_page(self.team, filters=AccessFilters(**query), cursor=cursor, limit=limit)
        return Response(access_list_json(page.records, page.next_cursor))

    @extend_schema(
        operation_id="export_access_records",
        summary="Export who read or changed what",
        parameters=[AccessExportQuery],
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.BINARY, description="A JSON object a line."),
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.BINARY, description="A line for each record."),
        },
        tags=_TAGS,
    )
    def export(self, request: Request) -> HttpResponseBase:
        """Every record until now that matches, newest first, sent while it is read."""
        query = self.query(AccessExportQuery)
        form = ExportFormat(query.pop("form"))
        query.setdefault("before", clock.now())
        records = trail_selectors.access_records(self.team, AccessFilters(**query))
        response = StreamingHttpResponse(export_chunks(records, form), content_type=form.media_type)
        response["Content-Disposition"] = f'attachment; filename="access_records.{form}"'
        return response


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class AccessSealViewSet(TeamPathViewSet):
    """The chain over a team's audit trail."""

    @extend_schema(
        operation_id="list_access_seals",
        summary="List the seals of the audit trail",
        parameters=[SealListQuery],
        responses=SealListAnswer,
        tags=_TAGS,
    )
    def list(self, request: Request) -> Response:
        """The team's chain, newest seal first. Who writes its last digest down can tell later that nothing is gone."""
        query = self.query(SealListQuery)
        limit = query["limit"]
        seals = trail_selectors.seal_page(self.team, before=query.get("next_cursor"), limit=limit + 1)
        return Response(seal_list_json(seals, limit))

    @extend_schema(
        operation_id="verify_access_seals",
        summary="Verify the audit trail",
        parameters=[VerificationQuery],
        responses=VerificationAnswer,
        tags=_TAGS,
    )
    def verify(self, request: Request) -> Response:
        """Hold records against their seals, a part of the chain at a time; what is not as it was is named."""
        query = self.query(VerificationQuery)
        found = trail_verify(self.team, first_number=query["first_number"], seals_maximum=query["limit"])
        return Response(verification_json(found))


class OrganisationRecordViewSet(OrganisationPathViewSet):
    """What was changed at the management address."""

    admin_actions = frozenset({"list"})

    @extend_schema(
        operation_id="list_organisation_records",
        summary="List what was changed in the organisation",
        parameters=[OrganisationRecordQuery],
        responses=OrganisationRecordListAnswer,
        tags=_TAGS,
    )
    def list(self, request: Request) -> Response:
        """Which key changed what, newest first."""
        cursor = self.query(OrganisationRecordQuery).get("next_cursor")
        rows = trail_selectors.organisation_records_page(self.organisation_id, cursor)
        page = rows[:PAGE_SIZE]
        next_cursor = str(page[-1].pk) if len(rows) > PAGE_SIZE else None
        return Response({"data": [organisation_record_json(row) for row in page], "next_cursor": next_cursor})
