"""What a team's pages fetch besides themselves: a stylesheet of its colour, and its logo."""

import re
from typing import Final
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from links.palette import stylesheet
from management.selectors import team_logo_find

_COLOR: Final = re.compile(r"[0-9a-f]{6}")
#: An address names its content for good: another colour or picture has another address.
_CACHED: Final = "public, max-age=31536000, immutable"


@require_GET
def brand_style(request: HttpRequest, color: str) -> HttpResponse:
    """`/link/brand/{rrggbb}.css`: the colour made readable in both schemes. Nothing about any team."""
    del request
    if not _COLOR.fullmatch(color):
        raise Http404
    return HttpResponse(stylesheet(f"#{color}"), content_type="text/css; charset=utf-8", headers=_headers())


@require_GET
def brand_logo(request: HttpRequest, logo_id: UUID) -> HttpResponse:
    """`/link/brand/{id}`: a team's logo, as the kind of picture it was checked to be."""
    del request
    found = team_logo_find(logo_id)
    if found is None:
        raise Http404
    return HttpResponse(bytes(found.content), content_type=found.media_type, headers=_headers())


def _headers() -> dict[str, str]:
    return {
        "Cache-Control": _CACHED,
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        # An app of the team's own shows its logo too.
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
