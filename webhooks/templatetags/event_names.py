"""How pages write names of events and addresses of endpoints."""

import re
from typing import Final

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()

_PARTS: Final = re.compile(r"[^._]*[._]?")
_URL_PARTS: Final = re.compile(r"[^/.?&=_-]*[/.?&=_-]*")


@register.filter
def breakable(name: str) -> SafeString:
    """A name that a narrow line may break after its dots and underscores, and nowhere else."""
    return format_html_join("", "{}<wbr>", ((part,) for part in _PARTS.findall(name) if part))


@register.filter
def breakable_url(url: str) -> SafeString:
    """An address that a narrow line may break after what separates its parts."""
    return format_html_join("", "{}<wbr>", ((part,) for part in _URL_PARTS.findall(url) if part))
