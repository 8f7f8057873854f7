"""The embedded default, as an app only for the sake of its command."""

from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    """Offers `manage.py up`."""

    name = "healthsvc.runtime"
    label = "runtime"
