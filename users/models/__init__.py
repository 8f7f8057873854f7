"""People, what is known of them, and how they leave."""

from users.models.people import User, UserQuerySet

__all__ = ["User", "UserQuerySet"]
