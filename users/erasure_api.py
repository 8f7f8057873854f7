"""Deleting users over HTTP, bringing them back, and what became of the erasure."""

from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.errors import not_found
from users.api import UserViewSet
from users.erasure_serializers import (
    ErasureAnswer,
    UndoDeleteAnswer,
    UndoDeleteQuery,
    UserDeletedAnswer,
    erasure_json,
)
from users.models import Erasure
from users.services import deletion


class DeletableUserViewSet(UserViewSet):
    """A user, who can be deleted too."""

    @extend_schema(
        operation_id="delete_user",
        summary="Delete a user",
        responses={200: UserDeletedAnswer},
        tags=["Users"],
    )
    def destroy(self, request: Request, user_id: UUID) -> Response:
        """The user vanishes and every connection ends at once; the data are erased after seven days."""
        erasure = deletion.user_delete(team=self.team, user_id=user_id)
        return Response({"success": True, "erasure_id": str(erasure.id), "due_at": utc_text(erasure.due_at)})


class ErasureViewSet(ServiceViewSet):
    """What follows a deletion."""

    access = Access.TEAM

    @extend_schema(
        operation_id="undo_delete_user",
        summary="Undo a user's deletion",
        parameters=[UndoDeleteQuery],
        request=None,
        responses={
            200: UndoDeleteAnswer,
            409: OpenApiResponse(
                description="Not deleted, too late, or another user has the client_user_id by now; `detail` says which."
            ),
        },
        tags=["Users"],
    )
    def undo(self, request: Request) -> Response:
        """Within seven days the user comes back with their data, without connections."""
        try:
            user = deletion.user_delete_undo(team=self.team, **self.query(UndoDeleteQuery))
        except deletion.UndoRefusedError as refused:
            self.user_disclosed(refused.user_id)
            raise
        self.kwargs["user_id"] = user.pk
        return Response({"success": True})

    @extend_schema(
        operation_id="get_user_erasure",
        summary="Get an erasure",
        responses=ErasureAnswer,
        tags=["Users"],
    )
    def retrieve(self, request: Request, erasure_id: UUID) -> Response:
        """How far the erasure of a deleted user is, and its signed receipt once it is done."""
        erasure = Erasure.objects.for_team(self.team).filter(pk=erasure_id).first()
        if erasure is None:
            raise not_found()
        return Response(erasure_json(erasure))
