"""Imports of export files over HTTP."""

from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation import imports, selectors
from aggregation.serializers import ImportAccepted, ImportAnswer, import_json
from aggregation.uploads import FILE_TYPES, FORM, upload_chunks
from healthsvc.kernel.api import Access, ServiceViewSet
from users import selectors as user_selectors

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
