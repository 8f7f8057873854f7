"""The team API's way to the portal: a link for one of the team's people."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel import clock
from healthsvc.kernel.api import Access, ServiceViewSet
from webhooks.services.portal import portal_link_make


@extend_schema_serializer(component_name="WebhookPortalLink")
class PortalLinkAnswer(serializers.Serializer[Any]):
    """A link to the portal."""

    url = serializers.CharField(help_text="Opens once; hand it to one person.")
    expires_at = serializers.DateTimeField(help_text="Until when it opens; the visit it begins goes on longer.")


class PortalLinkViewSet(ServiceViewSet):
    """Links to the portal, where a person sees and mends the team's webhooks in a browser."""

    access = Access.TEAM
    #: The answer holds a secret.
    keeps_replies = False

    @extend_schema(
        operation_id="get_svix_url",
        summary="Get a link to the webhook portal",
        responses=PortalLinkAnswer,
        tags=["Team"],
    )
    def retrieve(self, request: Request) -> Response:
        """A link that opens once, in the next ten minutes, for the team and environment of the key.

        Make it when a person of yours asks for it, and send them there at once: whoever opens it may see every
        message and change every webhook.
        """
        link = portal_link_make(team=self.team, made_by_kind=self.principal.kind, made_by_id=str(self.principal.key_id))
        return Response({"url": link.url, "expires_at": clock.utc_text(link.expires_at)})
