"""The token endpoints: the standard one of RFC 6749, Withings' own envelope, and revocation."""

import base64
import binascii
import hmac
from urllib.parse import unquote

from simulator.catalogue import CLIENT_SECRET, vendor_of
from simulator.grants import GrantRefusedError, TokenPair, code_exchange, refresh, token_revoke
from simulator.person import user_id_of
from simulator.store import Store
from simulator.web import Request, Response, json_response


class Tokens:
    """Every vendor's token endpoints, over one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def token(self, request: Request) -> Response:
        """POST /{slug}/oauth/token, client authentication by Basic or in the body."""
        vendor = vendor_of(request.slug)
        if not vendor.standard_token_endpoint:
            return json_response({"error": "not_found"}, 404)
        client = client_of(request)
        if client is None:
            challenge = ("WWW-Authenticate", "Basic")
            return json_response({"error": "invalid_client"}, 401, [challenge])
        grant_type = request.field("grant_type")
        if grant_type not in {"authorization_code", "refresh_token"}:
            return json_response({"error": "unsupported_grant_type"}, 400)
        try:
            pair = self._pair(request, client)
        except GrantRefusedError as refusal:
            description = f"The {refusal.what} is not valid."
            return json_response({"error": "invalid_grant", "error_description": description}, 400)
        return json_response(
            {
                "token_type": "bearer",
                "access_token": pair.access_token,
                "expires_in": pair.expires_in_seconds,
                "refresh_token": pair.refresh_token,
                "scope": vendor.scope_separator.join(pair.grant.scopes),
            }
        )

    def withings(self, request: Request) -> Response:
        """POST /withings/v2/oauth2: always HTTP 200; `status` 0 or an error number says how it went."""
        if request.field("action") != "requesttoken":
            return withings_error(503, "Invalid Params: invalid action")
        client = client_of(request)
        if client is None:
            return withings_error(503, "Invalid Params: invalid client_id/client_secret")
        if request.field("grant_type") not in {"authorization_code", "refresh_token"}:
            return withings_error(503, "Invalid Params: invalid grant_type")
        try:
            pair = self._pair(request, client)
        except GrantRefusedError as refusal:
            return withings_error(503, f"Invalid Params: invalid {refusal.what}")
        body = {
            "userid": user_id_of(pair.grant.seed),
            "access_token": pair.access_token,
            "refresh_token": pair.refresh_token,
            "expires_in": pair.expires_in_seconds,
            "scope": ",".join(pair.grant.scopes),
            "token_type": "Bearer",
        }
        return json_response({"status": 0, "body": body})

    def _pair(self, request: Request, client_id: str) -> TokenPair:
        if request.field("grant_type") == "refresh_token":
            return refresh(
                self._store,
                slug=request.slug,
                client_id=client_id,
                refresh_token=request.field("refresh_token"),
            )
        return code_exchange(
            self._store,
            slug=request.slug,
            client_id=client_id,
            code=request.field("code"),
            redirect_uri=request.field("redirect_uri"),
            code_verifier=request.field("code_verifier"),
        )

    def oura_revoke(self, request: Request) -> Response:
        """GET or POST /oura/oauth/revoke?access_token=…: 200 whether or not the token was known."""
        token_revoke(self._store, request.slug, request.field("access_token"))
        return json_response({})

    def revoke(self, request: Request) -> Response:
        """POST /{slug}/oauth/revoke with `token`, as RFC 7009 has it: 200 for an unknown token too."""
        if client_of(request) is None:
            return json_response({"error": "invalid_client"}, 401, [("WWW-Authenticate", "Basic")])
        token_revoke(self._store, request.slug, request.field("token"))
        return json_response({})


def withings_error(status: int, error: str) -> Response:
    """Withings' error envelope, which travels under HTTP 200."""
    return json_response({"status": status, "body": {}, "error": error})


def client_of(request: Request) -> str | None:
    """The client id, when it came with the right secret."""
    kind, _, encoded = request.headers.get("authorization", "").partition(" ")
    client_id, secret = request.field("client_id"), request.field("client_secret")
    if kind.lower() == "basic":
        try:
            decoded = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
        client_id, secret = (unquote(part) for part in decoded.partition(":")[::2])
    right = hmac.compare_digest(secret.encode(), CLIENT_SECRET.encode())
    return client_id if right and client_id else None
