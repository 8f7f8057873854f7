"""What is kept of a user, as the API shows it."""

from aggregation.introspection import ResourceStatistics, UserResources
from aggregation.registry import PullAttempt
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject


def user_resources_json(found: UserResources) -> JSONObject:
    """A user's resources by provider."""
    providers = {
        slug: {resource: _statistics_json(one) for resource, one in resources.items()}
        for slug, resources in found.providers.items()
    }
    return {"user_id": str(found.user_id), "provider": providers}


def _statistics_json(found: ResourceStatistics) -> JSONObject:
    return {
        "last_attempt": None if found.last_attempt is None else _attempt_json(found.last_attempt),
        "oldest_data": None if found.oldest is None else utc_text(found.oldest),
        "newest_data": None if found.newest is None else utc_text(found.newest),
        "sent_count": found.count,
    }


def _attempt_json(attempt: PullAttempt) -> JSONObject:
    return {"timestamp": utc_text(attempt.ended_at), "status": attempt.status.value}
