"""Addresses of endpoints as others than their team see them: without the query, where some put a secret."""

from typing import Final
from urllib.parse import urlsplit

#: As much of an address as fits a line of a list.
SHORT_CHARACTERS: Final = 60


def url_without_query(url: str) -> str:
    """A URL that may be shown: customers put secrets into queries."""
    return urlsplit(url)._replace(query="", fragment="").geturl()


def url_short(url: str) -> str:
    """The beginning of a URL without its query: enough to know it by."""
    shown = url_without_query(url)
    return shown if len(shown) <= SHORT_CHARACTERS else f"{shown[: SHORT_CHARACTERS - 1]}…"


def url_host(url: str) -> str:
    """The host, with the port where one is named."""
    return urlsplit(url).netloc.rpartition("@")[2]
