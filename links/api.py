"""Links over HTTP: link tokens, a user's connections, and refreshes."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import ErrorCode, error_body
from healthsvc.kernel.waiting import waiting_place
from links import selectors
from links.serializers import (
    ConnectionsAnswer,
    LinkTokenAnswer,
    LinkTokenBody,
    RefreshAnswer,
    RefreshErrorAnswer,
    RefreshQuery,
)
from links.services.refreshes import user_refresh
from links.services.tokens import link_token_create
from links.shapes import connection_json
from users import selectors as user_selectors


class LinkTokenViewSet(ServiceViewSet):
    """Link tokens."""

    access = Access.TEAM
    #: A token is kept as a digest; a kept reply would hold the token itself for a day.
    keeps_replies = False

    @extend_schema(
        operation_id="generate_link_token",
        summary="Create a link token",
        request=LinkTokenBody,
        responses={200: LinkTokenAnswer},
        tags=["Link"],
    )
    def create(self, request: Request) -> Response:
        """A token for one user, good for an hour and for one connection."""
        made = link_token_create(team=self.team, **self.body(LinkTokenBody))
        return Response({"link_token": made.token, "link_web_url": made.web_url})


class UserConnectionViewSet(ServiceViewSet):
    """What a user is connected to."""

    access = Access.TEAM

    @extend_schema(
        operation_id="get_connected_providers",
        summary="List a user's connected providers",
        responses=ConnectionsAnswer,
        tags=["Link"],
    )
    def list(self, request: Request, user_id: UUID) -> Response:
        """Each connection with its status, and what data it can give and why not."""
        user = user_selectors.user_get(self.team, user_id)
        connections = selectors.connections_of(self.team, user_id)
        return Response({"providers": [connection_json(connection, user) for connection in connections]})


class UserRefreshViewSet(ServiceViewSet):
    """Pulling a user's data again."""

    access = Access.TEAM
    calls_network = True
    waits_itself = True

    @extend_schema(
        operation_id="refresh_user_id",
        summary="Refresh a user's data",
        parameters=[RefreshQuery],
        request=None,
        responses={200: RefreshAnswer, 202: RefreshAnswer, 400: RefreshErrorAnswer},
        tags=["Link"],
    )
    def create(self, request: Request, user_id: UUID) -> Response:
        """Pull the last days of every connected provider; 202 where some are still at it when the time is over.

        While many requests wait already, the time is over at once.
        """
        timeout_seconds = self.query(RefreshQuery)["timeout"]
        with waiting_place(self.team.team_id) as may_wait:
            found = user_refresh(team=self.team, user_id=user_id, timeout_seconds=timeout_seconds if may_wait else 0)
        if found.nothing_connected:
            return self._nothing_connected(request, user_id, found.failed)
        body = {
            "success": True,
            "user_id": str(user_id),
            "refreshed_sources": found.refreshed,
            "in_progress_sources": found.in_progress,
            "failed_sources": found.failed,
        }
        return Response(body, status=202 if found.in_progress else 200)

    @staticmethod
    def _nothing_connected(request: Request, user_id: UUID, failed: tuple[str, ...]) -> Response:
        code = ErrorCode.NO_CONNECTED_SOURCES
        told = error_body(code, code.meaning, getattr(request._request, "request_id", ""))
        body = {"success": False, "user_id": str(user_id), "error": code.meaning, "failed_sources": failed, **told}
        return Response(body, status=code.status)
