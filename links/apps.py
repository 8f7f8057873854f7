"""The links app."""

from django.apps import AppConfig


class LinksConfig(AppConfig):
    """The links app."""

    name = "links"
