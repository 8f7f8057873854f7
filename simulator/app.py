"""The simulator as one WSGI application: routes, faults, counting, and an answer to everything."""

from __future__ import annotations

import time
from dataclasses import replace
from hmac import compare_digest
from typing import TYPE_CHECKING

from simulator import (
    demo,
    dexcom,
    garmin,
    generic,
    google_health,
    hammerhead,
    passwords,
    polar,
    strava,
    ultrahuman,
    wahoo,
    whoop,
)
from simulator.configuration import Configuration
from simulator.control import Control
from simulator.faults import fault_after, fault_before, fault_take
from simulator.hook_control import routes as hook_control_routes
from simulator.oura import Oura
from simulator.oura_hooks import routes as oura_hooks_routes
from simulator.pages import page
from simulator.sign_in import SignIn
from simulator.store import Store
from simulator.tokens import Tokens
from simulator.web import BadRequestError, Match, Request, Response, Route, json_response, match, read_request, send
from simulator.withings import Withings
from simulator.withings_hooks import routes as withings_hooks_routes

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_CONTROLS = "/_control/"
#: Routes that no fault touches and nobody counts.
_OWN = (_CONTROLS, "/healthz")
#: What shows the secret of the controls.
CONTROL_HEADER = "x-simulator-control"

_ACTIONS = frozenset(
    (
        "requesttoken",
        "revoke",
        "getnonce",
        "subscribe",
        "getmeas",
        "getactivity",
        "getintradayactivity",
        "getworkouts",
        "get",
        "getsummary",
        "getdevice",
    )
)


class Simulator:
    """The WSGI application. Every method is safe to call from several threads."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.store = Store(configuration.database, configuration.callback_origins)
        self._routes = _routes(self.store, configuration)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        try:
            request = read_request(environ)
        except BadRequestError as error:
            return send(json_response({"detail": error.detail}, error.status), "GET", start_response)
        response = self._answer(request)
        if response.delay_seconds:
            time.sleep(response.delay_seconds)
        return send(response, request.method, start_response)

    def _answer(self, request: Request) -> Response:
        found = match(self._routes, request)
        if request.path.startswith(_CONTROLS) and (refusal := self._control_refusal(request)):
            return refusal
        if request.path.startswith(_OWN):
            return _served(found)
        parts = request.path.split("/")
        slug = found.request.slug or (parts[1] if len(parts) > 2 else "")
        inside = request.path.removeprefix(f"/{slug}")
        fault = fault_take(self.store, slug, inside) if slug else None
        response = fault_before(self.store, fault, replace(request, slug=slug)) if fault else None
        if response is None:
            response = _served(found)
            response = fault_after(fault, response) if fault else response
        action = request.field("action") if request.field("action") in _ACTIONS else ""
        counted_slug = found.request.slug if found.handler else ""
        self.store.count_request(counted_slug, request.method, found.pattern, action, response.status)
        return response

    def _control_refusal(self, request: Request) -> Response | None:
        """Why a request to the controls is not carried out: there are none, or it shows no secret."""
        secret = self.configuration.control_secret
        if not secret:
            return json_response({"detail": "Not found."}, 404)
        if not compare_digest(request.headers.get(CONTROL_HEADER, "").encode("latin-1", "replace"), secret.encode()):
            return json_response({"detail": f"Send the secret of the controls in {CONTROL_HEADER}."}, 403)
        return None


def _served(found: Match) -> Response:
    if found.handler is not None:
        return found.handler(found.request)
    if found.allowed:
        allow = ("Allow", ", ".join(found.allowed))
        return json_response({"detail": "Method not allowed."}, 405, [allow])
    return json_response({"detail": "Not found."}, 404)


def _routes(store: Store, configuration: Configuration) -> tuple[Route, ...]:
    control, sign_in, tokens = Control(store), SignIn(store), Tokens(store)
    oura, withings = Oura(store), Withings(store)
    collection = "/oura/v2/usercollection/"
    return (
        Route("GET", "/", lambda request: _index(configuration, request)),
        Route("GET", "/healthz", lambda request: _healthz(store, request)),
        Route("POST", "/_control/faults", control.fault_add),
        Route("DELETE", "/_control/faults", control.fault_clear),
        Route("GET", "/_control/requests", control.requests),
        Route("POST", "/_control/clock", control.clock),
        Route("POST", "/_control/reset", control.reset),
        *hook_control_routes(store),
        Route("GET", collection + "personal_info", oura.personal_info),
        Route("GET", collection + "daily_activity", oura.daily_activity),
        Route("GET", collection + "daily_sleep", oura.daily_sleep),
        Route("GET", collection + "sleep", oura.sleep),
        Route("GET", collection + "heartrate", oura.heartrate),
        Route("GET", collection + "workout", oura.workout),
        Route("GET", collection + "daily_spo2", oura.daily_spo2),
        Route("GET", collection + "ring_configuration", oura.ring_configuration),
        *oura_hooks_routes(store),
        Route("GET", "/oura/oauth/revoke", tokens.oura_revoke),
        Route("POST", "/oura/oauth/revoke", tokens.oura_revoke),
        *withings_hooks_routes(store, tokens.withings),
        Route("POST", "/withings/v2/user", withings.user_v2),
        Route("POST", "/withings/measure", withings.measure),
        Route("POST", "/withings/v2/measure", withings.measure_v2),
        Route("POST", "/withings/v2/sleep", withings.sleep_v2),
        *strava.routes(store),
        *google_health.routes(store),
        *wahoo.routes(store),
        *hammerhead.routes(store),
        *garmin.routes(store),
        Route("GET", "/{slug}/oauth/authorize", sign_in.authorize),
        Route("POST", "/{slug}/oauth/login", sign_in.login),
        Route("GET", "/{slug}/oauth/consent", sign_in.consent),
        Route("POST", "/{slug}/oauth/consent", sign_in.decide),
        Route("POST", "/{slug}/oauth/token", tokens.token),
        Route("POST", "/{slug}/oauth/revoke", tokens.revoke),
        *demo.routes(store),
        *whoop.routes(store),
        *dexcom.routes(store),
        *polar.routes(store),
        *ultrahuman.routes(store),
        *passwords.routes(store),
        *generic.routes(store),
    )


def _healthz(store: Store, request: Request) -> Response:
    del request
    store.row("SELECT 1")
    return json_response({"status": "ok"})


def _index(configuration: Configuration, request: Request) -> Response:
    del request
    content = (
        "<h1>Provider simulator</h1>\n<p>This program plays the vendors that people connect. "
        f"It answers at <strong>{configuration.url}</strong>.</p>\n"
        '<p class="quiet last">Nobody begins here: a link page sends people to a vendor’s login.</p>\n'
        f"{passwords.known_logins_html()}"
    )
    return page("Provider simulator", "Every vendor", content)
