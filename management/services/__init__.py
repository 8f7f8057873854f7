"""Writes of the management app: organisations, teams, keys, members and what they choose."""

from management.services.access_tokens import (
    AccessTokenMade,
    access_token_create,
    access_token_use,
    access_tokens_purge,
)
from management.services.keys import (
    KeyMade,
    key_revoke,
    management_key_create,
    management_key_use,
    team_key_create,
    team_key_use,
)
from management.services.management_keys import (
    management_key_delete,
    management_key_issue,
    management_key_patch,
    management_key_rotate,
)
from management.services.members import (
    invite_revoke,
    invite_send,
    member_create,
    member_patch,
    member_remove,
)
from management.services.names import name_check
from management.services.preferences import (
    scope_requirement_set,
    team_logo_remove,
    team_logo_set,
    team_settings_change,
)
from management.services.team_erasure import teams_erase_due
from management.services.team_keys import KeysDeleted, team_key_rotate, team_keys_delete
from management.services.teams import (
    IntegrationTeamTakenError,
    organisation_create,
    organisation_rename,
    team_create,
    team_delete,
    team_patch,
    team_rename,
    team_undelete,
)

__all__ = [
    "AccessTokenMade",
    "IntegrationTeamTakenError",
    "KeyMade",
    "KeysDeleted",
    "access_token_create",
    "access_token_use",
    "access_tokens_purge",
    "invite_revoke",
    "invite_send",
    "key_revoke",
    "management_key_create",
    "management_key_delete",
    "management_key_issue",
    "management_key_patch",
    "management_key_rotate",
    "management_key_use",
    "member_create",
    "member_patch",
    "member_remove",
    "name_check",
    "organisation_create",
    "organisation_rename",
    "scope_requirement_set",
    "team_create",
    "team_delete",
    "team_key_create",
    "team_key_rotate",
    "team_key_use",
    "team_keys_delete",
    "team_logo_remove",
    "team_logo_set",
    "team_patch",
    "team_rename",
    "team_settings_change",
    "team_undelete",
    "teams_erase_due",
]
