"""Learning which account a connection is of, where the login could not ask.

Without it the provider's calls about the account reach nobody, and one account with two users is not noticed.
"""

from dataclasses import replace

import structlog

from links.catalogue import LoginKind
from links.connectors.failures import ProviderFailure
from links.connectors.registry import connector_of
from links.models import Pull
from links.selectors import resources_available
from links.services.connections import connection_account_learn
from links.services.pull_rows import pull_keep
from links.services.renewal import access_get

log = structlog.get_logger(__name__)


def account_learn(pull: Pull) -> None:
    """Ask for the account's id before a pull, where it is not known: with one resource's pulls, not with each.

    What can't be learnt keeps no data waiting. LeaseLost, and as `access_get` ConnectionBroken, TokensBusy and
    ProviderFailure. Calls the network, outside every transaction.
    """
    connection, environment = pull.connection, pull.context.environment
    if connection.external_user_id or connection.login != LoginKind.OAUTH:
        return
    connector = connector_of(connection.provider, environment)
    resources = resources_available(connection.provider, connection.scopes_granted, environment)
    if connector is None or pull.resource != next(iter(resources), ""):
        return
    access, version = access_get(connection_id=connection.pk)
    try:
        told = connector.account_id(replace(access, before_call=lambda: pull_keep(pull)))[:200]
    except ProviderFailure as failure:
        log.info("account_id_unknown", provider=connection.provider, kind=str(failure.kind))
        return
    if told:
        connection_account_learn(connection_id=connection.pk, token_version=version, external_user_id=told)
