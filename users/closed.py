"""Deleted users: from the deletion until an undo nobody is shown anything about them, as if there were no such person.

Whatever finds a team's rows that name people without asking for the person first leaves out those of deleted ones.
"""

from django.db.models import Exists, OuterRef, Q

from users.models import User


def of_no_deleted_user(user_id: str = "user_id") -> Q:
    """Rows about nobody, or about whoever was not deleted. The deleted are looked up by their key, a row at a time, or
    are few. In a scope that sees the team's users.
    """
    return Q(~Exists(User.objects.filter(pk=OuterRef(user_id)).exclude(deleted_at=None)))
