"""Archives of everything about a user over HTTP: asking for one, seeing how far it is, downloading it."""

from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.principal import Principal
from healthsvc.kernel.typing import JSONObject
from management.closed import team_is_living
from users import export_selectors
from users.export_selectors import Download, ExportShown
from users.export_serializers import (
    ExportAnswer,
    ExportDownloadQuery,
    ExportListAnswer,
    ExportListQuery,
    export_json,
    exports_json,
)
from users.exporting.addresses import PARAMETER, address_make, address_read
from users.services import exports
from users.states import ExportStatus

ARCHIVE_TYPE = "application/zip"


class SignedAddressAuthentication(BaseAuthentication):
    """The token of a signed address, for the one archive that its path names; counts before a key that is sent too."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """Whoever the address was made for; 401 where the token is not good for this path."""
        token = request.query_params.get(PARAMETER)
        if token is None:
            return None
        named = request.parser_context["kwargs"]
        user_id, export_id = uuid_parse(named["user_id"]), uuid_parse(named["export_id"])
        principal = address_read(user_id, export_id, token) if user_id and export_id else None
        if principal is None or principal.team is None or not team_is_living(principal.team.team_id):
            raise AuthenticationFailed
        return principal, None


class ExportViewSet(ServiceViewSet):
    """Archives of one user."""

    access = Access.TEAM

    @extend_schema(
        operation_id="create_user_export",
        summary="Export everything about a user",
        request=None,
        responses={
            202: ExportAnswer,
            200: OpenApiResponse(ExportAnswer, description="The export that is being made already."),
        },
        tags=["Users"],
    )
    def create(self, request: Request, user_id: UUID) -> Response:
        """Begins an archive in the background. While one is made, asking again answers that one."""
        export, is_new = exports.export_request(team=self.team, user_id=user_id)
        shown = export_selectors.export_get(self.team, user_id, export.pk)
        headers = {"Location": f"/v2/user/{user_id}/export/{export.pk}"}
        return Response(self._told(shown), status=202 if is_new else 200, headers=headers)

    @extend_schema(
        operation_id="list_user_exports",
        summary="List a user's exports",
        parameters=[ExportListQuery],
        responses=ExportListAnswer,
        tags=["Users"],
    )
    def list(self, request: Request, user_id: UUID) -> Response:
        """The newest first. Of archives that are finished only the newest is kept."""
        query = self.query(ExportListQuery)
        page = export_selectors.export_page(self.team, user_id, cursor=query["next_cursor"], limit=query["limit"])
        return Response(exports_json([self._told(one) for one in page.exports], page.next_cursor))

    @extend_schema(operation_id="get_user_export", summary="Get an export", responses=ExportAnswer, tags=["Users"])
    def retrieve(self, request: Request, user_id: UUID, export_id: UUID) -> Response:
        """How far an archive is; once it is ready, an address that downloads it for a quarter of an hour."""
        return Response(self._told(export_selectors.export_get(self.team, user_id, export_id)))

    def _told(self, shown: ExportShown) -> JSONObject:
        """With an address in the caller's name, where the archive is finished."""
        is_ready = shown.export.status == ExportStatus.READY
        return export_json(shown, address_make(shown.export, self.principal) if is_ready else None)


class ExportDownloadViewSet(ServiceViewSet):
    """The archive itself."""

    access = Access.TEAM

    def get_authenticators(self) -> list[BaseAuthentication]:
        """A team's key, or the token of a signed address."""
        return [SignedAddressAuthentication(), *super().get_authenticators()]

    @extend_schema(
        operation_id="download_user_export",
        summary="Download an export",
        parameters=[ExportDownloadQuery],
        responses={(200, ARCHIVE_TYPE): OpenApiResponse(OpenApiTypes.BINARY, description="A ZIP archive.")},
        tags=["Users"],
    )
    def retrieve(self, request: Request, user_id: UUID, export_id: UUID) -> HttpResponseBase:
        """The ZIP, with a key or through `download_url`. 409 where it is not ready, or was removed."""
        return archive_response(export_selectors.export_download(self.team, user_id, export_id))


def archive_response(download: Download) -> HttpResponseBase:
    """The archive as a stream whose length is told, so that one that breaks off is seen."""
    response = StreamingHttpResponse(download.chunks, content_type=ARCHIVE_TYPE)
    response["Content-Length"] = str(download.size_bytes)
    response["Content-Disposition"] = f'attachment; filename="{download.name}"'
    return response
