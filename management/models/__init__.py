"""Organisations, teams, keys, members, staff, the audit trail, background jobs, stored files and kept replies."""

from management.models.keys import KeyRow, ManagementKey, TeamAccessToken, TeamKey
from management.models.members import Invite, Member, MemberRow
from management.models.preferences import ScopeRequirement, TeamLogo, TeamSettings
from management.models.tenants import Organisation, StaffUser, Team, TeamInOrganisation
from management.models.trail import AccessNamed, AccessRecord, AccessSeal, OrganisationRecord, TrailMark
from management.models.work import (
    BackgroundJob,
    IdempotentReply,
    OrganisationReply,
    ReplyRow,
    StoredFile,
    WorkerSighting,
)

__all__ = [
    "AccessNamed",
    "AccessRecord",
    "AccessSeal",
    "BackgroundJob",
    "IdempotentReply",
    "Invite",
    "KeyRow",
    "ManagementKey",
    "Member",
    "MemberRow",
    "Organisation",
    "OrganisationRecord",
    "OrganisationReply",
    "ReplyRow",
    "ScopeRequirement",
    "StaffUser",
    "StoredFile",
    "Team",
    "TeamAccessToken",
    "TeamInOrganisation",
    "TeamKey",
    "TeamLogo",
    "TeamSettings",
    "TrailMark",
    "WorkerSighting",
]
