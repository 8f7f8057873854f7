"""One chain of middleware for the clients of all tests, for making one reads every static file."""

from collections.abc import Callable

from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.test.client import ClientHandler

_chains: dict[tuple[object, ...], dict[str, object]] = {}
_load_middleware: Callable[[BaseHandler, bool], None] = ClientHandler.load_middleware


def _load_once(handler: BaseHandler, is_async: bool = False) -> None:
    """As Django's, once for each list of middleware; a chain keeps nothing of the client it was made for."""
    key = (tuple(settings.MIDDLEWARE), is_async)
    if key not in _chains:
        before = set(vars(handler))
        _load_middleware(handler, is_async)
        _chains[key] = {name: value for name, value in vars(handler).items() if name not in before}
    vars(handler).update(_chains[key])


def share_middleware() -> None:
    """From now on every test client uses the one chain."""
    ClientHandler.load_middleware = _load_once  # type: ignore[method-assign, assignment]
