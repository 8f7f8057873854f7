"""People: users, later their demographics, insurance and deletion."""

from django.apps import AppConfig


class UsersConfig(AppConfig):
    """The users app."""

    name = "users"

    def ready(self) -> None:
        """Name what is kept of a person here and below."""
        from management import erasure as management_erasure
        from users import registry
        from users.services import own_rows

        registry.erasers.append(registry.Eraser(own_rows.tables(), own_rows.user_portion_erase))
        registry.erasers.append(registry.Eraser(management_erasure.TABLES, management_erasure.user_portion_erase))
