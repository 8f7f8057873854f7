"""The ground everything stands on: tenants, keys, staff, audit, jobs, files."""

from django.apps import AppConfig


class ManagementConfig(AppConfig):
    """Registers the system checks."""

    name = "management"

    def ready(self) -> None:
        """Import the checks so that Django knows them."""
        from healthsvc import checks

        checks.register_all()
