"""Shapes of archives in and out."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject
from management.constants import JobStatus
from users.constants import EXPORT_LIST_LIMIT_DEFAULT, EXPORT_LIST_LIMIT_MAXIMUM
from users.export_selectors import ExportShown
from users.exporting.addresses import SignedAddress
from users.states import ExportStatus

_QUEUED, _RUNNING = JobStatus.QUEUED.value, JobStatus.RUNNING.value
_SHOWN = [_QUEUED, _RUNNING, *(status.value for status in ExportStatus if status is not ExportStatus.MAKING)]


class ExportListQuery(serializers.Serializer[Any]):
    """Which page of archives."""

    limit = serializers.IntegerField(
        required=False, default=EXPORT_LIST_LIMIT_DEFAULT, min_value=1, max_value=EXPORT_LIST_LIMIT_MAXIMUM
    )
    next_cursor = serializers.UUIDField(required=False, default=None, allow_null=True)


class ExportDownloadQuery(serializers.Serializer[Any]):
    """What stands in a signed address."""

    token = serializers.CharField(required=False, help_text="As it stands in `download_url`; in the place of a key.")


class ExportProgress(serializers.Serializer[Any]):
    """How far an archive is."""

    parts_done = serializers.IntegerField()
    parts_total = serializers.IntegerField()
    records = serializers.IntegerField(help_text="Records that are written so far.")


@extend_schema_serializer(component_name="UserExport")
class ExportAnswer(serializers.Serializer[Any]):
    """An archive of everything about a user: how far it is, and where to get it."""

    export_id = serializers.UUIDField()
    user_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=_SHOWN)
    progress = ExportProgress()
    size_bytes = serializers.IntegerField(allow_null=True, help_text="Of a finished archive.")
    requested_at = serializers.DateTimeField()
    ready_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When the archive is removed.")
    error_code = serializers.CharField(allow_null=True, help_text="given_up, unreadable or user_gone.")
    download_url = serializers.CharField(
        allow_null=True, help_text="Opens the archive without a key until `download_expires_at`: keep it to yourself."
    )
    download_expires_at = serializers.DateTimeField(allow_null=True)


@extend_schema_serializer(component_name="UserExports")
class ExportListAnswer(serializers.Serializer[Any]):
    """A page of a user's archives, newest first."""

    exports = ExportAnswer(many=True)
    next_cursor = serializers.UUIDField(allow_null=True)


def export_json(shown: ExportShown, address: SignedAddress | None) -> JSONObject:
    """What `ExportAnswer` describes; `address` is where a finished archive is."""
    export = shown.export
    return {
        "export_id": str(export.pk),
        "user_id": str(export.user_id),
        "status": status_shown(shown),
        "progress": _progress_json(shown),
        "size_bytes": export.size_bytes if export.ready_at else None,
        "requested_at": utc_text(export.requested_at),
        "ready_at": utc_text(export.ready_at) if export.ready_at else None,
        "expires_at": utc_text(export.expires_at) if export.expires_at else None,
        "error_code": export.error_code or None,
        "download_url": address.url if address else None,
        "download_expires_at": utc_text(address.expires_at) if address else None,
    }


def exports_json(exports: list[JSONObject], next_cursor: UUID | None) -> JSONObject:
    """What `ExportListAnswer` describes."""
    return {"exports": exports, "next_cursor": str(next_cursor) if next_cursor else None}


def status_shown(shown: ExportShown) -> str:
    """The archive's status; of one that is made, whether a worker is at it."""
    if shown.export.status != ExportStatus.MAKING:
        return shown.export.status
    return _RUNNING if shown.job is not None and shown.job.status == JobStatus.RUNNING else _QUEUED


def _progress_json(shown: ExportShown) -> JSONObject:
    export, job = shown.export, shown.job
    done, total = (job.progress_done, job.progress_total) if job is not None else (0, 0)
    written = job.checkpoint.get("records", 0) if job is not None else 0
    return {"parts_done": done, "parts_total": total, "records": export.records or written}
