"""Many connections at once, over HTTP."""

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject
from healthsvc.kernel.waiting import waiting_place
from links.bulk_selectors import bulk_ops_page, bulk_users, connections_export
from links.bulk_serializers import (
    BulkExportAnswer,
    BulkExportBody,
    BulkImportAnswer,
    BulkImportBody,
    BulkOpsAnswer,
    BulkOpsQuery,
    BulkPauseAnswer,
    BulkPauseBody,
    BulkTriggerAnswer,
    BulkTriggerBody,
)
from links.catalogue import provider_get
from links.constants import BULK_BODY_MAXIMUM_BYTES, BULK_WAIT_SECONDS
from links.models import BulkOp, Connection
from links.services.bulk import (
    bulk_import_begin,
    bulk_op_wait,
    bulk_pause,
    bulk_room_check,
    bulk_trigger_begin,
)
from links.states import BulkOpStatus

#: An operation that goes on after its caller has gone: `GET /v2/link/bulk_op` shows how far it is.
_QUEUED = OpenApiResponse(
    description="Queued, or still running when the wait was over; at once where too many requests wait. No body."
)


class BulkViewSet(ServiceViewSet):
    """Bulk operations. Kept replies would hold tokens a day longer than needed, so idempotency keys are left aside."""

    access = Access.TEAM
    keeps_replies = False
    body_limit_bytes = BULK_BODY_MAXIMUM_BYTES

    @extend_schema(
        operation_id="bulk_import",
        summary="Import connections",
        request=BulkImportBody,
        responses={200: BulkImportAnswer, 202: _QUEUED},
        tags=["Link"],
    )
    def imports(self, request: Request) -> Response:
        """Connections from tokens that another system held; each is told and backfilled as if it were new."""
        bulk_room_check(self.team)
        body = self.body(BulkImportBody)
        self.users_named(one.user_id for one in body["connections"])
        provider = provider_get(body["provider"])
        op = bulk_import_begin(team=self.team, provider=provider, recipes=body["connections"])
        return self._answered(op, body["wait_for_completion"], "user_ids_imported")

    @extend_schema(
        operation_id="bulk_trigger_historical_pull",
        summary="Pull histories again",
        request=BulkTriggerBody,
        responses={200: BulkTriggerAnswer, 202: _QUEUED},
        tags=["Link"],
    )
    def trigger(self, request: Request) -> Response:
        """A backfill of each user's connection; data that have not changed change nothing."""
        bulk_room_check(self.team)
        body = self.body(BulkTriggerBody)
        self.users_named(body["user_ids"])
        provider = provider_get(body["provider"])
        op = bulk_trigger_begin(team=self.team, provider=provider, user_ids=body["user_ids"])
        return self._answered(op, body["wait_for_completion"], "user_ids_triggered")

    @extend_schema(
        operation_id="bulk_pause",
        summary="Pause connections",
        request=BulkPauseBody,
        responses={200: BulkPauseAnswer},
        tags=["Link"],
    )
    def pause(self, request: Request) -> Response:
        """No pulls of these users' connections until they connect or are refreshed again."""
        body = self.body(BulkPauseBody)
        self.users_named(body["user_ids"])
        provider = provider_get(body["provider"])
        paused = bulk_pause(team=self.team, provider=provider, user_ids=body["user_ids"])
        return Response({"success": True, "paused": paused})

    @extend_schema(
        operation_id="bulk_export",
        summary="Export connections",
        request=BulkExportBody,
        responses={200: BulkExportAnswer},
        tags=["Link"],
    )
    def export(self, request: Request) -> Response:
        """Connections with their tokens, for another system to take over. One that refreshes here ends them there."""
        body = self.body(BulkExportBody)
        page = connections_export(
            self.team, provider=body["provider"], user_ids=body.get("user_ids"), next_token=body.get("next_token")
        )
        self.users_named(body.get("user_ids") or [one.user_id for one in page.connections])
        return Response({"data": [_recipe_json(one) for one in page.connections], "next_token": page.next_token})

    @extend_schema(
        operation_id="list_bulk_ops",
        summary="List bulk operations",
        parameters=[BulkOpsQuery],
        responses=BulkOpsAnswer,
        tags=["Link"],
    )
    def list(self, request: Request) -> Response:
        """The team's operations, newest first, and how far each is."""
        query = self.query(BulkOpsQuery)
        page = bulk_ops_page(self.team, size=query["page_size"], next_cursor=query.get("next_cursor"))
        return Response({"data": [_op_json(op) for op in page.ops], "next_cursor": page.next_cursor})

    def _answered(self, op: BulkOp, wait: bool, done_name: str) -> Response:
        if wait:
            with waiting_place(self.team.team_id) as may_wait:
                op = bulk_op_wait(op, seconds=BULK_WAIT_SECONDS if may_wait else 0)
        if not wait or op.status == BulkOpStatus.IN_PROGRESS:
            return Response(status=202)
        done, failed = bulk_users(op)
        return Response({done_name: done, "user_ids_failed": failed})


def _recipe_json(connection: Connection) -> JSONObject:
    expires_at = connection.access_expires_at
    return {
        "user_id": str(connection.user_id),
        "access_token": connection.access_token,
        "refresh_token": connection.refresh_token,
        "provider_id": connection.external_user_id,
        "expires_at": int(expires_at.timestamp()) if expires_at else 0,
        "oauth_scopes": list(connection.scopes_granted),
    }


def _op_json(op: BulkOp) -> JSONObject:
    return {
        "id": str(op.pk),
        "type": op.type,
        "status": op.status,
        "provider": op.provider,
        "pending": op.total - op.processed,
        "processed": op.processed,
        "failed": op.failed,
        "started_at": utc_text(op.started_at),
        "ended_at": utc_text(op.ended_at) if op.ended_at else None,
    }
