"""People: users, later their demographics, insurance and deletion."""

from django.apps import AppConfig


class UsersConfig(AppConfig):
    """The users app."""

    name = "users"
