"""The labs app."""

from django.apps import AppConfig


class LabsConfig(AppConfig):
    """The labs app."""

    name = "labs"
