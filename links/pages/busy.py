"""When too many wait for a provider already: the person is told at once, and can go on in a moment."""

from typing import Final

from django.http import HttpRequest, HttpResponse

from healthsvc.kernel.waiting import BUSY_RETRY_SECONDS
from links.pages.answers import page

#: Above a form, whose fields are still there but for the password.
BUSY_WORDS: Final = "Many people are connecting at this moment. Nothing was sent; please try again in a moment."
_TITLE: Final = "One moment, please"
_RELOAD_WORDS: Final = (
    "Many people are connecting at this moment. Nothing is lost: wait a few seconds, then reload this page to go on."
)


def busy_page(request: HttpRequest) -> HttpResponse:
    """A page of its own, at an address that can be loaded again."""
    response = page(request, "links/ended.html", {"title": _TITLE, "words": _RELOAD_WORDS}, status=503)
    response["Retry-After"] = str(BUSY_RETRY_SECONDS)
    return response
