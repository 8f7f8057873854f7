"""The base of every API view: who may call, whose rows are seen, one error body, limits, replays and audit."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, Final, NoReturn
from uuid import UUID

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from rest_framework import exceptions, serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from healthsvc.kernel import hooks, limits, problems
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, error_body, invalid, is_outage
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.json_io import DEFAULT_BODY_LIMIT_BYTES
from healthsvc.kernel.principal import Principal, TeamContext
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.waiting import waiting_place_needed

log = structlog.get_logger(__name__)


Handler = Callable[..., Response]

#: Not allowed, and not there or another's: who tries that is written down.
_REFUSALS: Final = (403, 404)


class Access(StrEnum):
    """Who a view is open to. A view that declares nothing is open to nobody."""

    TEAM = "team"
    MANAGEMENT = "management"
    LINK_OR_TEAM = "link_or_team"
    #: A link token in any state: the view says what is wrong with one that is spent or out of time.
    LINK_ANY_OR_TEAM = "link_any_or_team"
    SESSION_OR_TEAM = "session_or_team"
    PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Says that an operation is on its way out, by RFC 9745 and RFC 8594."""

    since: datetime
    sunset: datetime | None = None

    def headers(self) -> dict[str, str]:
        """`Deprecation` as a structured date, `Sunset` as an HTTP date."""
        headers = {"Deprecation": f"@{int(self.since.timestamp())}"}
        if self.sunset:
            headers["Sunset"] = self.sunset.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
        return headers


class ServiceViewSet(ViewSet):
    """A DRF view set with the service's manners.

    `access` must be declared. Path parameters whose name ends in `_id` are UUIDs unless named in
    `text_parameters`; they reach the handler parsed. `calls_network` views are not wrapped in a transaction when
    an idempotency key is given, and answer 503 at once while too many requests wait (`kernel.waiting`), unless
    `waits_itself` says that they answer without waiting then. `audited` False leaves a view out of the audit trail
    (nothing personal in it). `keeps_replies` False leaves idempotency keys aside: for bodies that carry their own
    identity, or are too large, and for answers that hold a secret.
    """

    access: ClassVar[Access | None] = None
    text_parameters: ClassVar[frozenset[str]] = frozenset({"client_user_id"})
    body_limit_bytes: ClassVar[int] = DEFAULT_BODY_LIMIT_BYTES
    calls_network: ClassVar[bool] = False
    waits_itself: ClassVar[bool] = False
    keeps_replies: ClassVar[bool] = True
    audited: ClassVar[bool] = True
    deprecation: ClassVar[Mapping[str, Deprecation]] = {}
    rate_policy: ClassVar[Callable[[], limits.RatePolicy]] = staticmethod(limits.default_policy)
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]

    _scopes: ExitStack
    _limit_headers: dict[str, str]
    _user_named: UUID | None = None
    _discloses: bool = False
    _users_named: tuple[UUID, ...] = ()

    @property
    def principal(self) -> Principal:
        """The caller; only where `access` is not public."""
        principal = self.request.user
        if not isinstance(principal, Principal):
            raise ServiceError(ErrorCode.NOT_AUTHENTICATED)
        return principal

    @property
    def team(self) -> TeamContext:
        """The caller's team and environment; 403 for a principal without one."""
        if self.principal.team is None:
            raise ServiceError(ErrorCode.NOT_ALLOWED)
        return self.principal.team

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Those that settings name for the declared access."""
        if self.access in (None, Access.PUBLIC):
            return []
        return [authenticator() for authenticator in hooks.authenticators(str(self.access))]

    def check_permissions(self, request: Request) -> None:
        """Refuse everyone where nothing is declared, and whoever showed no key."""
        if self.access is None:
            raise ServiceError(ErrorCode.NOT_ALLOWED)
        if self.access is not Access.PUBLIC and not isinstance(request.user, Principal):
            raise ServiceError(ErrorCode.NOT_AUTHENTICATED, self._key_wanted())

    def _key_wanted(self) -> str:
        team = f"a team key (sk_… or pk_…) in the header {settings.TEAM_KEY_HEADERS[0]}"
        link = f"{team}, or a link token in {settings.LINK_TOKEN_HEADERS[0]}"
        wanted = {
            Access.MANAGEMENT: f"a management key (mg_…) in the header {settings.MANAGEMENT_KEY_HEADERS[0]}",
            Access.LINK_OR_TEAM: link,
            Access.LINK_ANY_OR_TEAM: link,
            Access.SESSION_OR_TEAM: f"{team}, or a session's access token in Authorization: Bearer …",
        }
        return f"{ErrorCode.NOT_AUTHENTICATED.meaning} Send {wanted.get(self.access or Access.TEAM, team)}."

    def check_throttles(self, request: Request) -> None:
        """Count the request against its key."""
        self._limit_headers = {}
        if isinstance(request.user, Principal):
            self._limit_headers = limits.limit_take(type(self).rate_policy(), str(request.user.pk))

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, permit and count; then read the path and enter the caller's scope."""
        super().initial(request, *args, **kwargs)
        self._parse_path()
        principal = request.user
        if isinstance(principal, Principal) and principal.team:
            self._scopes.enter_context(team_scope(principal.team))

    def _parse_path(self) -> None:
        found: list[Problem] = []
        for name, text in self.kwargs.items():
            if name.endswith("_id") and name not in self.text_parameters and isinstance(text, str):
                parsed = uuid_parse(text)
                if parsed is None:
                    found.append(Problem(("path", name), "Not a UUID.", "uuid_parsing"))
                self.kwargs[name] = parsed
        if found:
            raise invalid(found)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """DRF's dispatch, inside the caller's scope and around kept replies."""
        self.args, self.kwargs = args, kwargs
        self._limit_headers = {}
        api_request = self.initialize_request(request, *args, **kwargs)
        self.request = api_request
        self.headers = self.default_response_headers
        with ExitStack() as self._scopes:
            try:
                self.initial(api_request, *args, **kwargs)
                response = self._answer(api_request)
            except Exception as error:  # noqa: BLE001 - the one handler of every failure of a view
                response = self.handle_exception(error)
            self.response = self.finalize_response(api_request, response, *args, **kwargs)
            self._audit(api_request)
        return self.response

    def _answer(self, request: Request) -> Response:
        method = (request.method or "").lower()
        known = method in self.http_method_names
        handler: Handler = getattr(self, method, self._no_such_method) if known else self._no_such_method
        if self.calls_network and not self.waits_itself:
            handler = self._with_a_place(handler)
        if method != "post" or not self.keeps_replies or not isinstance(request.user, Principal):
            return handler(request, *self.args, **self.kwargs)
        keeper = hooks.reply_keeper()
        kept = keeper.replay(request, request.user, self._route(request))
        if kept is not None:
            return kept
        return self._answer_once(request, handler)

    def _with_a_place(self, handler: Handler) -> Handler:
        def placed(*args: Any, **kwargs: Any) -> Response:
            with waiting_place_needed(self.team.team_id):
                return handler(*args, **kwargs)

        return placed

    def _no_such_method(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        raise ServiceError(ErrorCode.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(self.allowed_methods)})

    def _answer_once(self, request: Request, handler: Handler) -> Response:
        keeper = hooks.reply_keeper()
        try:
            if self.calls_network:
                response = handler(request, *self.args, **self.kwargs)
                keeper.keep(request, response)
                return response
            with keeper.running(request):
                response = handler(request, *self.args, **self.kwargs)
                keeper.keep(request, response)
                return response
        except Exception as error:  # noqa: BLE001 - a refusal may be kept too, after its changes are undone
            response = self.handle_exception(error)
            keeper.keep(request, response)
            return response

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Add limit and deprecation headers."""
        response = super().finalize_response(request, response, *args, **kwargs)
        for name, value in self._limit_headers.items():
            response[name] = value
        deprecation = self.deprecation.get(str(getattr(self, "action", "")))
        for name, value in (deprecation.headers() if deprecation else {}).items():
            response[name] = value
        return response

    def users_named(self, user_ids: Iterable[UUID]) -> None:
        """Let the audit trail say whose data a page shows, or a request of many changes."""
        self._users_named = tuple(user_ids)

    def user_disclosed(self, user_id: UUID) -> None:
        """Let the audit trail say of whom a refusal told, whatever its status."""
        self._user_named, self._discloses = user_id, True

    def _audit(self, request: Request) -> None:
        """Tell the trail's writer what was answered, or refused to a caller who is known; of other refusals than 403
        and 404 those that tell of a person.

        In a team's trail both are a row. Of what concerns an organisation and no team, changes that were made are.
        """
        status = self.response.status_code
        if not self.audited or not isinstance(request.user, Principal):
            return
        if status >= 400 and status not in _REFUSALS and not self._discloses and not self._detail_names_a_user():
            return
        named = self._user_named or request.user.user_id
        ids = {} if named is None else {"user_id": str(named)}
        hooks.audit_writer()(
            request=request,
            principal=request.user,
            action=f"{request.method} {self._route(request)}",
            ids={**ids, **{name: str(value) for name, value in self.kwargs.items() if isinstance(value, UUID)}},
            status_code=status,
            user_ids=self._users_named,
        )

    def _detail_names_a_user(self) -> bool:
        """Whether a refusal, perhaps a kept one, says who somebody is; they are named then."""
        detail = self.response.data.get("detail") if isinstance(self.response.data, dict) else None
        told = detail.get("user_id") if isinstance(detail, dict) else None
        user_id = uuid_parse(told) if isinstance(told, str) else None
        self._user_named = user_id or self._user_named
        return user_id is not None

    @staticmethod
    def _route(request: Request) -> str:
        match = request._request.resolver_match
        return f"/{match.route}" if match else request.path

    def handle_exception(self, exc: Exception) -> Response:
        """As DRF's; a refused key is told which key is wanted, and where."""
        if isinstance(exc, exceptions.AuthenticationFailed):
            exc = ServiceError(ErrorCode.NOT_AUTHENTICATED, self._key_wanted())
        return super().handle_exception(exc)

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        """A known key, an action not open to it."""
        raise ServiceError(ErrorCode.NOT_ALLOWED)

    def query(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The query parameters, validated; 422 with `loc` ["query", name]."""
        return self._noted(_validated(serializer(data=self.request.query_params), "query"))

    def body(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The JSON body, validated; 422 with `loc` ["body", name …]."""
        return self._noted(_validated(serializer(data=self.body_object()), "body"))

    def _noted(self, values: dict[str, Any]) -> dict[str, Any]:
        """Values that name a user, for the audit trail."""
        if isinstance(values.get("user_id"), UUID):
            self._user_named = values["user_id"]
        return values

    def body_object(self) -> dict[str, Any]:
        """The JSON body, which must be an object."""
        data = self.request.data
        if not isinstance(data, dict):
            raise invalid([Problem(("body",), "A JSON object is needed.", "dict_type")])
        return data


def _validated(serializer: serializers.Serializer[Any], part: str) -> dict[str, Any]:
    if not serializer.is_valid():
        raise invalid(problems.from_serializer_errors(serializer.errors, (part,), serializer))
    return dict(serializer.validated_data)


_DRF_CODES: tuple[tuple[type[Exception], ErrorCode], ...] = (
    (exceptions.NotAuthenticated, ErrorCode.NOT_AUTHENTICATED),
    (exceptions.AuthenticationFailed, ErrorCode.NOT_AUTHENTICATED),
    (exceptions.PermissionDenied, ErrorCode.NOT_ALLOWED),
    (PermissionDenied, ErrorCode.NOT_ALLOWED),
    (exceptions.NotFound, ErrorCode.NOT_FOUND),
    (Http404, ErrorCode.NOT_FOUND),
    (exceptions.MethodNotAllowed, ErrorCode.METHOD_NOT_ALLOWED),
    (exceptions.UnsupportedMediaType, ErrorCode.UNSUPPORTED_MEDIA_TYPE),
    (exceptions.Throttled, ErrorCode.RATE_LIMITED),
    (exceptions.ParseError, ErrorCode.VALIDATION_FAILED),
    (RequestDataTooBig, ErrorCode.TOO_LARGE),
)

#: A database that restarts is back by then.
_OUTAGE_RETRY_SECONDS = "2"


def error_response(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler: the one body for every failure. A 500 tells nothing but its request id."""
    request = context["request"]
    request_id: str = getattr(request, "request_id", "")
    code, detail, headers = _described(exc)
    if code is ErrorCode.UNAVAILABLE and is_outage(exc):
        log.warning("database_unavailable", exc_info=exc)
    if code is ErrorCode.INTERNAL:
        if settings.DEBUG_PROPAGATE_EXCEPTIONS:
            return None
        log.error("request_failed", exc_info=exc)
    response = Response(error_body(code, detail, request_id), status=code.status, headers=headers)
    response.exception = True
    return response


def _described(exc: Exception) -> tuple[ErrorCode, JSONValue, dict[str, str]]:
    if isinstance(exc, ServiceError):
        return exc.code, exc.detail, exc.headers
    if isinstance(exc, exceptions.ValidationError):
        found = problems.from_serializer_errors(exc.detail, ("body",))
        return ErrorCode.VALIDATION_FAILED, [problem.as_json() for problem in found], {}
    if isinstance(exc, SuspiciousOperation) and not isinstance(exc, RequestDataTooBig):
        problem = Problem(("query",), "Too many parameters, or malformed ones.", "query_invalid")
        return ErrorCode.VALIDATION_FAILED, [problem.as_json()], {}
    for kind, code in _DRF_CODES:
        if isinstance(exc, kind):
            if code is ErrorCode.VALIDATION_FAILED:
                problem = Problem(("body",), "The body can't be read.", "body_invalid")
                return code, [problem.as_json()], {}
            return code, code.meaning, {}
    if is_outage(exc):
        return ErrorCode.UNAVAILABLE, ErrorCode.UNAVAILABLE.meaning, {"Retry-After": _OUTAGE_RETRY_SECONDS}
    return ErrorCode.INTERNAL, ErrorCode.INTERNAL.meaning, {}
