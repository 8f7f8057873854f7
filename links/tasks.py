"""Tasks of the links app."""

from uuid import UUID

from celery import shared_task

from links.services import pull_rows, pulls, tokens


@shared_task(name="links.pull_run")
def pull_run(pull_id: str) -> None:
    """Fetch what a pull still owes."""
    pulls.pull_run(pull_id=UUID(pull_id))


@shared_task(name="links.pulls_sweep")
def pulls_sweep() -> None:
    """Wake pulls whose time has come or whose worker died."""
    pull_rows.pulls_wake()


@shared_task(name="links.tokens_purge")
def tokens_purge() -> None:
    """Remove link tokens that ended long ago."""
    tokens.link_tokens_purge()
