"""Tasks of the links app."""

from uuid import UUID

from celery import shared_task

from links.services import (
    budgets,
    bulk,
    demo,
    hooks,
    password_logins,
    pull_purge,
    pull_rows,
    pulls,
    revocations,
    schedule,
    session_purge,
    tokens,
)


@shared_task(name="links.pull_run")
def pull_run(pull_id: str) -> None:
    """Fetch what a pull still owes."""
    pulls.pull_run(pull_id=UUID(pull_id))


@shared_task(name="links.pulls_sweep")
def pulls_sweep() -> None:
    """Wake pulls whose time has come or whose worker died."""
    pull_rows.pulls_wake()


@shared_task(name="links.pulls_schedule_due")
def pulls_schedule_due() -> None:
    """Owe the pulls of connections whose hour has come."""
    schedule.pulls_schedule_due()


@shared_task(name="links.tokens_purge")
def tokens_purge() -> None:
    """Remove link tokens that ended long ago, and what logins and sessions leave behind."""
    tokens.link_tokens_purge()
    session_purge.sessions_purge()
    password_logins.password_logins_purge()


@shared_task(name="links.hook_run")
def hook_run(hook_id: str) -> None:
    """Subscribe to a provider's notifications, renew that, or end it."""
    hooks.hook_run(hook_id=UUID(hook_id))


@shared_task(name="links.hooks_reconcile")
def hooks_reconcile() -> None:
    """Wake subscriptions that are due, and want what the catalogue has gained."""
    hooks.hooks_reconcile()


@shared_task(name="links.bulk_op_run")
def bulk_op_run(op_id: str, claim: int | None = None) -> None:
    """Work a bulk operation for a few seconds, or to its end."""
    bulk.bulk_op_run(op_id=UUID(op_id), claim=claim)


@shared_task(name="links.bulk_ops_sweep")
def bulk_ops_sweep() -> None:
    """Take up bulk operations that were left behind."""
    bulk.bulk_ops_wake()


@shared_task(name="links.demos_end")
def demos_end() -> None:
    """Disconnect demonstrations whose week is over."""
    demo.demos_end()


@shared_task(name="links.revocation_run")
def revocation_run(revocation_id: str) -> None:
    """Take a grant back at its provider."""
    revocations.revocation_run(revocation_id=UUID(revocation_id))


@shared_task(name="links.revocations_sweep")
def revocations_sweep() -> None:
    """Wake revocations whose time has come or whose worker died."""
    revocations.revocations_wake()


@shared_task(name="links.vendors_purge")
def vendors_purge() -> None:
    """Remove counted windows, revocations, bulk operations and pulls of connections that ended long ago."""
    budgets.budgets_purge()
    pull_purge.pulls_purge()
    revocations.revocations_purge()
    bulk.bulk_ops_purge()
