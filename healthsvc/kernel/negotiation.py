"""Content negotiation that answers JSON unless something else is asked for and offered."""

from collections.abc import Iterable

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class LenientNegotiation(DefaultContentNegotiation):
    """DRF's negotiation, except that an Accept nothing matches is answered with the first renderer.

    Existing clients send wildcard or odd Accept headers and expect JSON; errors too must reach them as JSON.
    """

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The best match, or the first."""
        offered = list(renderers)
        wanted = self.get_accept_list(request)
        for renderer in offered:
            if any(renderer.media_type == part.split(";")[0].strip() for part in wanted):
                return renderer, str(renderer.media_type)
        return offered[0], str(offered[0].media_type)
