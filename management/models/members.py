"""The people of a customer's organisation, and those it invited. They have no login here yet."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import choice_check
from management.constants import MEMBER_NAME_MAXIMUM_CHARACTERS, MemberRole
from management.models.tenants import Organisation


class MemberRow(models.Model):
    """What members and invited people have in common: an address in lower case and a role."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=MemberRole.choices)
    #: Teams that a team_admin is bound to; empty for every other role.
    team_ids = ArrayField(models.UUIDField(), default=list, blank=True)

    class Meta:
        abstract = True


class Member(MemberRow):
    """A person of an organisation."""

    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="members")
    name = models.CharField(max_length=MEMBER_NAME_MAXIMUM_CHARACTERS)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "management_member"
        constraints = [
            models.UniqueConstraint(fields=["organisation", "email"], name="management_member_once"),
            choice_check("role", MemberRole.values, "management_member"),
            models.CheckConstraint(
                condition=models.Q(role="team_admin") | models.Q(team_ids=[]), name="management_member_others_unbound"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Invite(MemberRow):
    """A person whom an organisation invited and who has not come yet."""

    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="invites")
    invited_at = models.DateTimeField()
    resent_at = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=100)

    class Meta:
        db_table = "management_invite"
        constraints = [
            models.UniqueConstraint(fields=["organisation", "email"], name="management_invite_once"),
            choice_check("role", MemberRole.values, "management_invite"),
            models.CheckConstraint(
                condition=models.Q(role="team_admin") | models.Q(team_ids=[]), name="management_invite_others_unbound"
            ),
        ]
