"""The webhooks app."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """The webhooks app."""

    name = "webhooks"
