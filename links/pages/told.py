"""What a form's answer tells on the page it leads to: a sealed cookie of this browser, gone once it was shown.

A form that was answered in place would make the browser ask, on every way back, whether to send it again. A password or
a code is never among what is told.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
from django.conf import settings
from django.http import HttpResponse

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import DecryptionError, seal, unseal
from links.pages.answers import PATH, cookie_name, cookie_open_frames, go
from links.pages.sessions import Visit

#: From the form to the page is a moment; a cookie that was never asked for is soon of no use.
_SECONDS: Final = 600
_VALUE_MAXIMUM_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Told:
    """The words above a form, those beside its fields by their names, and what was typed."""

    problem: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)


def told_go(visit: Visit, address: str, told: Told) -> HttpResponse:
    """303 to the page, which tells it this once."""
    values = {name: value[:_VALUE_MAXIMUM_CHARACTERS] for name, value in told.values.items()}
    content = [address, int(clock.now().timestamp()), told.problem, dict(told.errors), values]
    response = go(address, visit.brand)
    _give(visit, response, urlsafe_b64encode(seal(orjson.dumps(content), place=_place(visit))).decode(), _SECONDS)
    return response


def told_find(visit: Visit, address: str) -> Told | None:
    """What is told on this page; None for nothing."""
    cookie = visit.request.COOKIES.get(_name(visit))
    if not cookie:
        return None
    try:
        content = orjson.loads(unseal(urlsafe_b64decode(cookie), place=_place(visit)))
    except (DecryptionError, ValueError):
        # Not ours, or of a key that was retired: the form is empty.
        return None
    of, at, problem, errors, values = content
    fresh = at + _SECONDS > clock.now().timestamp()
    return Told(problem, errors, values) if of == address and fresh else None


def told_forget(visit: Visit, response: HttpResponse) -> HttpResponse:
    """Once is enough."""
    if _name(visit) in visit.request.COOKIES:
        _give(visit, response, "", 0)
    return response


def _give(visit: Visit, response: HttpResponse, value: str, seconds: int) -> None:
    response.set_cookie(
        _name(visit),
        value,
        max_age=seconds,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    cookie_open_frames(response, _name(visit), visit.brand)


def _name(visit: Visit) -> str:
    return f"{cookie_name(visit.session.pk)}_form"


def _place(visit: Visit) -> str:
    return f"link-form:{visit.session.pk.hex}"
