"""Whether the service can work: the database, the broker and a worker."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import Error, connection, transaction
from redis import Redis
from redis.exceptions import RedisError

from healthsvc.kernel import clock
from management.constants import WORKER_SEEN_SECONDS
from management.models import WorkerSighting

#: The database must answer within this.
_ANSWER_MILLISECONDS: Final = 1000


@dataclass(frozen=True, slots=True)
class Readiness:
    """What answered. `worker_seen_seconds_ago` is None where no worker was ever seen."""

    database: bool
    broker: bool
    worker: bool
    worker_seen_seconds_ago: int | None

    @property
    def ready(self) -> bool:
        """Whether every part answered."""
        return self.database and self.broker and self.worker


def readiness() -> Readiness:
    """Ask every part, each for a second at most."""
    seen_seconds_ago: int | None = None
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = %s", [_ANSWER_MILLISECONDS])
            sighting = WorkerSighting.objects.filter(name="default").first()
        if sighting:
            seen_seconds_ago = max(0, int((clock.now() - sighting.seen_at).total_seconds()))
        database = True
    except Error:
        database = False
    worker = seen_seconds_ago is not None and seen_seconds_ago <= WORKER_SEEN_SECONDS
    return Readiness(database, _broker_answers(), worker, seen_seconds_ago)


def _broker_answers() -> bool:
    if not settings.REDIS_URL:
        return bool(settings.BROKER_DIR.is_dir())
    try:
        with Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1) as client:
            return bool(client.ping())
    except (RedisError, OSError):
        return False
