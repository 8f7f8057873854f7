"""Users over HTTP."""

from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from users import selectors, services
from users.models import User
from users.serializers import (
    UserAnswer,
    UserCreateBody,
    UserListAnswer,
    UserListQuery,
    UserPatchBody,
    user_json,
)


class UserViewSet(ServiceViewSet):
    """A team's users."""

    access = Access.TEAM

    @extend_schema(
        operation_id="get_teams_users",
        summary="List users",
        parameters=[UserListQuery],
        responses=UserListAnswer,
        tags=["Users"],
    )
    def list(self, request: Request) -> Response:
        """The team's users, newest first."""
        query = self.query(UserListQuery)
        page = selectors.user_page(self.team, offset=query["offset"], limit=query["limit"])
        self.users_named(user.id for user in page.users)
        users = [user_json(user, list(page.sources[user.id])) for user in page.users]
        return Response({"users": users, "total": page.total, **query})

    @extend_schema(
        operation_id="create_user",
        summary="Create a user",
        request=UserCreateBody,
        responses={
            200: UserAnswer,
            400: OpenApiResponse(description="The client_user_id is taken; `detail` holds the living user's id."),
        },
        tags=["Users"],
    )
    def create(self, request: Request) -> Response:
        """A new user. A taken client_user_id answers 400 with the id of the user who has it."""
        user = services.user_create(team=self.team, **self.body(UserCreateBody))
        self.kwargs["user_id"] = user.id
        return Response(user_json(user, []))

    @extend_schema(operation_id="get_user", summary="Get a user", responses=UserAnswer, tags=["Users"])
    def retrieve(self, request: Request, user_id: UUID) -> Response:
        """One user."""
        return self._answer_user(selectors.user_get(self.team, user_id))

    @extend_schema(
        operation_id="patch_user",
        summary="Change a user",
        request=UserPatchBody,
        responses={204: None, 400: OpenApiResponse(description="No field was named.")},
        tags=["Users"],
    )
    def partial_update(self, request: Request, user_id: UUID) -> Response:
        """Change the fields named in the body; null clears."""
        services.user_patch(team=self.team, user_id=user_id, changes=self.body(UserPatchBody))
        return Response(status=204)

    @extend_schema(
        operation_id="get_user_by_client_user_id",
        summary="Get a user by client_user_id",
        responses=UserAnswer,
        tags=["Users"],
    )
    def resolve(self, request: Request, client_user_id: str) -> Response:
        """The living user with this client_user_id."""
        user = selectors.user_resolve(self.team, client_user_id)
        self.kwargs["user_id"] = user.id
        return self._answer_user(user)

    def _answer_user(self, user: User) -> Response:
        return Response(user_json(user, selectors.sources_of(self.team, [user])[user.id]))
