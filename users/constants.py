"""Numbers and names of the users app."""

from typing import Final

CLIENT_USER_ID_MAXIMUM_CHARACTERS: Final = 255
LIST_LIMIT_DEFAULT: Final = 100
LIST_LIMIT_MAXIMUM: Final = 500
#: PostgreSQL's bigint would be far beyond any list; this bounds what a client can make the database skip.
LIST_OFFSET_MAXIMUM: Final = 100_000_000

#: The `source_slug` of values that the customer gave through the API.
MANUAL_SOURCE_SLUG: Final = "manual"
#: The same of values that came with data which the customer pushed: newer knowledge may replace them.
PUSHED_SOURCE_SLUG: Final = "manual_push"
#: Knowledge that is confirmed is dated anew only where it is older by so much, so that not every push writes the user.
LEARNED_AGAIN_SECONDS: Final = 86_400
