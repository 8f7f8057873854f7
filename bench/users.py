"""Listing and reading users through the whole service, against a bare DRF view and against the SQL alone."""

from typing import Any

from django.db import connection
from django.test import Client
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from bench.stage import medians, stage, table
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant, user_make
from users.models import User

_ROUNDS = 200
_PAGE = (
    "SELECT * FROM users_user WHERE team_id = %s AND environment = 'sandbox' AND deleted_at IS NULL"
    " ORDER BY created_at DESC, id DESC LIMIT 100"
)
_COUNT = "SELECT count(*) FROM users_user WHERE team_id = %s AND environment = 'sandbox' AND deleted_at IS NULL"


class _PlainSerializer(serializers.ModelSerializer[User]):
    class Meta:
        model = User
        fields = ["id", "team_id", "client_user_id", "created_at", "fallback_time_zone", "ingestion_start_on"]


class _BareList(APIView):
    """What one writes first: no key, no limits, no audit."""

    renderer_classes = [JSONRenderer]

    def get(self, request: Any) -> Response:
        users = User.objects.filter(deleted_at=None).order_by("-created_at", "-id")[:100]
        return Response({"users": _PlainSerializer(users, many=True).data, "total": User.objects.count()})


class _BareGet(APIView):
    renderer_classes = [JSONRenderer]

    def get(self, request: Any, user_id: Any) -> Response:
        return Response(_PlainSerializer(User.objects.get(pk=user_id)).data)


def _sql(statement: str, *parameters: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[Any] = cursor.fetchall()
    return rows


def measure(tenant: Tenant) -> None:
    """Print both tables."""
    users = [user_make(tenant) for _ in range(1000)]
    headers = {"x-service-api-key": tenant.key, "host": "localhost"}
    client, factory = Client(), APIRequestFactory()
    bare_list, bare_get = _BareList.as_view(), _BareGet.as_view()
    one = users[500].id
    team_id = tenant.team.id
    assert client.get("/v2/user", headers=headers).status_code == 200
    with team_scope(tenant.context):
        found = medians(
            {
                "SQL": lambda: (_sql(_PAGE, team_id), _sql(_COUNT, team_id)),
                "bare DRF view": lambda: bare_list(factory.get("/")).render().content,
                "healthsvc": lambda: client.get("/v2/user", headers=headers).content,
            },
            rounds=_ROUNDS,
        )
        table("List 100 of 1,000 users", found, "SQL")
        found = medians(
            {
                "SQL": lambda: _sql("SELECT * FROM users_user WHERE id = %s", one),
                "bare DRF view": lambda: bare_get(factory.get("/"), user_id=one).render().content,
                "healthsvc": lambda: client.get(f"/v2/user/{one}", headers=headers).content,
            },
            rounds=_ROUNDS,
        )
        table("Get one user", found, "SQL")


if __name__ == "__main__":
    with stage() as team:
        measure(team)
