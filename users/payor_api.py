"""Payors over HTTP."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, Deprecation, ServiceViewSet
from healthsvc.kernel.principal import TeamContext
from users import services
from users.constants import PayorProvider
from users.contact_serializers import address_given
from users.payor_catalogue import PayorInfo
from users.payor_selectors import payor_info, payors_search
from users.payor_serializers import (
    PayorAnswer,
    PayorBody,
    PayorOldAnswer,
    PayorQuery,
    PayorSearchBody,
    payor_json,
    payor_old_json,
)

_TAGS = ["Insurance"]


class PayorViewSet(ServiceViewSet):
    """Payors: those every team finds, and those the team added."""

    access = Access.TEAM
    audited = False
    deprecation = {"search_old": Deprecation(since=datetime(2026, 1, 1, tzinfo=UTC))}

    @extend_schema(
        operation_id="search_get_payor_info",
        summary="Search payors",
        parameters=[PayorQuery],
        responses=PayorAnswer(many=True),
        tags=_TAGS,
    )
    def search(self, request: Request) -> Response:
        """Payors that fit everything that is given; the team's own come first."""
        query = self.query(PayorQuery)
        return Response([payor_json(payor) for payor in _found(self.team, query)])

    @extend_schema(
        operation_id="search_payor_info",
        summary="Search payors, as older clients do",
        request=PayorSearchBody,
        responses=PayorOldAnswer(many=True),
        deprecated=True,
        tags=_TAGS,
    )
    def search_old(self, request: Request) -> Response:
        """Deprecated: use GET."""
        body = self.body(PayorSearchBody)
        body["provider_payor_id"] = body.pop("provider_id", None)
        return Response([payor_old_json(payor) for payor in _found(self.team, body)])

    @extend_schema(
        operation_id="create_payor",
        summary="Add a payor",
        request=PayorBody,
        responses={200: PayorAnswer},
        tags=_TAGS,
    )
    def create(self, request: Request) -> Response:
        """A payor of the team's own, which no other team finds; its code is made here."""
        body = self.body(PayorBody)
        payor = services.payor_create(
            team=self.team,
            name=body["name"],
            address=address_given(body["address"]),
            provider=_provider(body),
            provider_payor_id=body.get("provider_payor_id") or "",
        )
        return Response(payor_json(payor_info(payor)))


def _found(team: TeamContext, asked: Mapping[str, Any]) -> list[PayorInfo]:
    return payors_search(
        team,
        insurance_name=asked.get("insurance_name") or "",
        provider=_provider(asked),
        provider_payor_id=asked.get("provider_payor_id") or "",
    )


def _provider(asked: Mapping[str, Any]) -> PayorProvider | None:
    return PayorProvider(asked["provider"]) if asked.get("provider") else None
