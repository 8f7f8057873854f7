"""Providers without a login over HTTP: connecting them, and a device's word that it has sent everything."""

from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import ErrorCode, ServiceError, not_found
from healthsvc.kernel.principal import PrincipalKind
from links.authentication import LinkTokenOfAnyStateAuthentication
from links.callers import TOKEN_TEXTS, LinkCaller, link_caller, link_refused, provider_wanted
from links.constants import LinkErrorType
from links.device_selectors import MANUAL_LOGINS, is_device_side
from links.device_serializers import ManualConnectBody, SyncCompleteAnswer, SyncCompleteBody
from links.services.device_connections import device_connect, sync_complete
from links.services.password_logins import ERROR_TEXTS
from links.services.refusals import LinkRefused
from links.session_serializers import SuccessAnswer

_REFUSALS = "`detail` is `{error_type, error_message}`: MISSING_LINK_TOKEN, INVALID_PROVIDER or a link error type."
_SECURITY: list[dict[str, list[str]]] = [{"teamKey": []}, {"linkToken": []}, {"deviceSession": []}]


class ManualConnectViewSet(ServiceViewSet):
    """Connecting what nobody logs in to: by a team key, a link token or the person's own device.

    Doing it again changes nothing, so no replies are kept: those are found by team, and here the caller is a person.
    """

    access = Access.SESSION_OR_TEAM
    keeps_replies = False

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Link tokens too, in any state: the answer says what is wrong with one."""
        return [LinkTokenOfAnyStateAuthentication(), *super().get_authenticators()]

    @extend_schema(
        operation_id="connect_manual_provider",
        summary="Connect a provider without a login",
        request=ManualConnectBody,
        responses={200: SuccessAnswer, 400: OpenApiResponse(description=_REFUSALS)},
        tags=["Link"],
        auth=_SECURITY,  # type: ignore[arg-type]  # the stub says names, the code takes requirements
    )
    def create(self, request: Request, provider: str) -> Response:
        """Apple Health, Health Connect, Samsung Health, meters that a telephone reads, and `manual`.

        Connecting again what is connected changes nothing and tells nobody.
        """
        body = self.body(ManualConnectBody)
        caller = self._caller(request, provider, body.get("user_id"))
        provider_wanted(caller.team, provider, MANUAL_LOGINS, caller.link_token)
        try:
            device_connect(
                team=caller.team,
                user_id=caller.user_id,
                provider=provider,
                provider_id=body.get("provider_id") or "",
                link_token=caller.link_token,
            )
        except LinkRefused as refused:
            raise _refusal(caller, refused.error_type) from None
        return Response({"success": True})

    def _caller(self, request: Request, provider: str, user_id: UUID | None) -> LinkCaller:
        principal = self.principal
        if principal.kind is not PrincipalKind.DEVICE_SESSION:
            return link_caller(request, principal, user_id)
        if principal.user_id is None or user_id not in (None, principal.user_id):
            raise not_found()
        if not is_device_side(provider):
            raise ServiceError(ErrorCode.NOT_ALLOWED, "A device connects providers that it reads itself.")
        return LinkCaller(self.team, principal.user_id, None)


class SyncCompleteViewSet(ServiceViewSet):
    """A device's word that it has sent everything. It may be repeated, and no replies are kept, as above."""

    access = Access.SESSION_OR_TEAM
    keeps_replies = False

    @extend_schema(
        operation_id="mark_sync_complete",
        summary="Note that a device has sent everything",
        request=SyncCompleteBody,
        responses={200: SyncCompleteAnswer},
        tags=["Push"],
    )
    def create(self, request: Request, user_id: UUID) -> Response:
        """Ends a first backfill, or notes how far a later sync came.

        The first `historical` mark of a resource sends `historical.data.<resource>.created`, and from then on pushes
        of the resource send events of their own. A mark that is repeated changes nothing.
        """
        if self.principal.user_id not in (None, user_id):
            raise not_found()
        body = self.body(SyncCompleteBody)
        if not is_device_side(body["provider"]):
            raise ServiceError(ErrorCode.NOT_ALLOWED, "Only providers that a device reads are synced by one.")
        announced = sync_complete(team=self.team, user_id=user_id, **body)
        return Response({"success": True, "announced": announced})


def _refusal(caller: LinkCaller, error_type: LinkErrorType) -> ServiceError:
    if caller.link_token is None and error_type is LinkErrorType.INVALID_TOKEN:
        # There was no token: the user went away meanwhile.
        return not_found()
    texts = {**TOKEN_TEXTS, **ERROR_TEXTS}
    return link_refused(str(error_type), texts.get(error_type, str(error_type)))
