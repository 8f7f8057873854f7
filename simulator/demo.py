"""Accounts for demonstrations: tokens without a person who logs in, for a client that shows its secret."""

import secrets

from simulator.catalogue import DAY_SECONDS
from simulator.grants import demo_issue
from simulator.person import user_id_of
from simulator.store import Store
from simulator.tokens import client_of
from simulator.web import Request, Response, Route, json_response

#: A demonstration lasts a week; its access token a day longer.
_ACCESS_SECONDS = 8 * DAY_SECONDS
_ACCOUNT_MAXIMUM_CHARACTERS = 200


class Demo:
    """The endpoint that makes them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def account(self, request: Request) -> Response:
        """POST /{slug}/demo/account with client_id, client_secret, scope and, where one is wanted, an account."""
        client_id = client_of(request)
        if client_id is None:
            return json_response({"error": "invalid_client"}, 401, [("WWW-Authenticate", "Basic")])
        account = request.field("account")[:_ACCOUNT_MAXIMUM_CHARACTERS] or f"demo-{secrets.token_hex(8)}@example.com"
        scopes = tuple(request.field("scope").split())
        pair = demo_issue(
            self._store,
            slug=request.slug,
            client_id=client_id,
            account=account,
            scopes=scopes,
            access_seconds=_ACCESS_SECONDS,
        )
        return json_response(
            {
                "token_type": "bearer",
                "access_token": pair.access_token,
                "refresh_token": pair.refresh_token,
                "expires_in": pair.expires_in_seconds,
                "user_id": str(user_id_of(pair.grant.seed)),
            }
        )


def routes(store: Store) -> tuple[Route, ...]:
    """The route of demonstrations."""
    return (Route("POST", "/{slug}/demo/account", Demo(store).account),)
