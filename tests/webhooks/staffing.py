"""Staff at their browsers, for tests of the admin."""

from django.contrib.auth.models import Permission
from django.test import Client

from management.models import StaffUser


def superuser() -> Client:
    """Staff who may do everything."""
    client = Client()
    client.force_login(StaffUser.objects.create_superuser(username="ada", email="", password="correct horse battery"))
    return client


def whole(page: str) -> str:
    """A page without the places where names may break."""
    return page.replace("<wbr>", "")


def clerk(*permissions: str) -> Client:
    """Staff who may do only this."""
    made = StaffUser.objects.create_user(username="bo", password="correct horse battery", is_staff=True)
    made.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(made)
    return client
