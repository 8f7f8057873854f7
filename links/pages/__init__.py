"""The hosted pages: a person opens a link, chooses a provider, sees what will be shared, and comes back from it.

The token leaves the address bar at the first step; from there a cookie of this browser and the session's id go on.
A form is answered by 303 to a page of ours: never by a page, for the way back would lead to a form that is to be sent
again; and never by a way out, for Chromium holds the whole chain of redirects after a form against `form-action`. Ways
out are links, and pages that go on by themselves.
"""

from links.pages.brands import brand_logo, brand_style
from links.pages.choosing import consent, onward, open_token, providers, refused
from links.pages.departures import callback, depart, window
from links.pages.endings import ended_page
from links.pages.logins import code, login
from links.pages.results import close, result, returning, returning_go

__all__ = [
    "brand_logo",
    "brand_style",
    "callback",
    "close",
    "code",
    "consent",
    "depart",
    "ended_page",
    "login",
    "onward",
    "open_token",
    "providers",
    "refused",
    "result",
    "returning",
    "returning_go",
    "window",
]
