"""What is kept of whom, as the API shows it."""

from typing import Any

from rest_framework import serializers

from aggregation.constants import INTROSPECTION_USERS, INTROSPECTION_USERS_MAXIMUM
from aggregation.serializers.queries import ProviderQuery
from healthsvc.kernel.fields import TextField, WholeNumberField

Serializer = serializers.Serializer[Any]


class IntrospectionQuery(ProviderQuery):
    """Of whom something is told."""

    user_id = serializers.UUIDField(required=False, help_text="Only this user.")
    user_limit = WholeNumberField(
        default=INTROSPECTION_USERS,
        min_value=1,
        max_value=INTROSPECTION_USERS_MAXIMUM,
        help_text="Users of a page, at most; those without data are left out.",
    )
    next_cursor = TextField(required=False, max_length=100, help_text="The `next_cursor` of the page before.")
    cursor = TextField(required=False, max_length=100, help_text="Deprecated: the older name of `next_cursor`.")


class LastAttempt(Serializer):
    """The last time that a pull from the provider ended."""

    timestamp = serializers.DateTimeField()
    status = serializers.CharField(help_text="`success` or `failure`.")


class SingleResourceStatistics(Serializer):
    """What is kept of one resource from one provider."""

    last_attempt = LastAttempt(allow_null=True)
    oldest_data = serializers.DateTimeField(allow_null=True)
    newest_data = serializers.DateTimeField(allow_null=True)
    sent_count = serializers.IntegerField(help_text="Samples or summaries that are kept.")


class SingleUserResourceResponse(Serializer):
    """What is kept of one user: resources by provider."""

    user_id = serializers.UUIDField()
    provider = serializers.DictField(child=serializers.DictField(child=SingleResourceStatistics()))


class UserResourcesResponse(Serializer):
    """What is kept, by user."""

    data = SingleUserResourceResponse(many=True)  # type: ignore[assignment]  # the API names it so
    next_cursor = serializers.CharField(allow_null=True, help_text="Where the next page begins; null on the last.")
    next = serializers.CharField(allow_null=True, help_text="Deprecated: the same as `next_cursor`.")
