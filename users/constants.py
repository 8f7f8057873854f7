"""Numbers and names of the users app."""

from typing import Final

from django.db.models import TextChoices

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

SEARCH_QUERY_MINIMUM_CHARACTERS: Final = 2
#: Users that a search answers; whoever needs more writes more of the name.
SEARCH_LIMIT: Final = 50
GENDER_MAXIMUM_CHARACTERS: Final = 50
#: Weeks that the metrics tell of, the current one among them.
METRIC_WEEKS: Final = 12


class Race(TextChoices):
    """A patient's race, as labs' forms have it."""

    AFRICAN_AMERICAN_OR_BLACK = "african_american_or_black"
    ASIAN = "asian"
    INDIGENOUS_NATIVE_AMERICAN_ALASKA_NATIVE = "indigenous_native_american_alaska_native"
    OTHER = "other"
    PACIFIC_ISLANDER_OR_HAWAIIAN = "pacific_islander_or_hawaiian"
    WHITE_CAUCASIAN = "white_caucasian"


class Ethnicity(TextChoices):
    """A patient's ethnicity, as labs' forms have it."""

    HISPANIC = "hispanic"
    NON_HISPANIC = "non_hispanic"
    ASHKENAZI_JEWISH = "ashkenazi_jewish"
    OTHER = "other"


class SexualOrientation(TextChoices):
    """A patient's sexual orientation, as labs' forms have it."""

    LESBIAN_GAY_OR_HOMOSEXUAL = "lesbian_gay_or_homosexual"
    HETEROSEXUAL_OR_STRAIGHT = "heterosexual_or_straight"
    BISEXUAL = "bisexual"
    DONT_KNOW = "dont_know"
    OTHER = "other"


class GenderIdentity(TextChoices):
    """A patient's gender identity, as labs' forms have it."""

    MALE = "male"
    FEMALE = "female"
    FEMALE_TO_MALE = "female_to_male_ftm_transgender_male_trans_man"
    MALE_TO_FEMALE = "male_to_female_mtf_transgender_female_trans_woman"
    GENDERQUEER = "genderqueer"
    OTHER = "other"


#: How long a deleted user can be brought back.
ERASURE_GRACE_SECONDS: Final = 7 * 86_400
#: A worker that erases says so at least this often; a portion takes a second or two.
ERASURE_LEASE_SECONDS: Final = 120
#: A worker erases one user for so long at most, then makes way; well below the time limit of a task.
ERASURE_RUN_SECONDS: Final = 240
#: Erasures that one sweep hands to workers.
ERASURES_A_SWEEP: Final = 200
#: A message that nobody took for so long is sent again.
ERASURE_WOKEN_SECONDS: Final = 600
EXPORT_WOKEN_SECONDS: Final = 120
#: How long an erasure rests where something of another's must end first, such as a grant that is taken back.
ERASURE_WAIT_SECONDS: Final = 600
#: How long it rests after each failure in a row; the last for every further one.
ERASURE_BACKOFF_SECONDS: Final = (60, 300, 1800, 3600)
ERASURE_ERROR_MAXIMUM_CHARACTERS: Final = 60

#: An address that downloads an archive without a key lives for so long.
EXPORT_ADDRESS_SECONDS: Final = 900
#: Archives that are made at once for one team in one environment.
EXPORTS_MAKING_A_TEAM: Final = 50
EXPORTS_RETRY_SECONDS: Final = 60
#: How long it is told that there was an archive.
EXPORT_ROW_SECONDS: Final = 90 * 86_400
EXPORTS_A_SWEEP: Final = 200
#: A worker says that it lives at least this often between two files, and at the end of each part.
EXPORT_RENEW_SECONDS: Final = 5
EXPORT_ERROR_MAXIMUM_CHARACTERS: Final = 60
EXPORT_LIST_LIMIT_DEFAULT: Final = 20
EXPORT_LIST_LIMIT_MAXIMUM: Final = 100

PAYOR_CODE_MAXIMUM_CHARACTERS: Final = 20
PAYOR_NAME_MAXIMUM_CHARACTERS: Final = 150
#: Payors that a search answers, the team's own first.
PAYORS_FOUND_MAXIMUM: Final = 50
#: Words of a search for payors that count.
PAYOR_SEARCH_WORDS_MAXIMUM: Final = 10
#: Member and group numbers as they are printed on insurance cards.
INSURANCE_NUMBER_MAXIMUM_CHARACTERS: Final = 80
DIAGNOSIS_QUERY_MAXIMUM_CHARACTERS: Final = 200
#: Codes that are checked together: several times what a claim holds.
DIAGNOSIS_CODES_MAXIMUM: Final = 100
DIAGNOSIS_CODE_MAXIMUM_CHARACTERS: Final = 20


class Gender(TextChoices):
    """The gender of an insured person, as payors know it."""

    FEMALE = "female"
    MALE = "male"
    OTHER = "other"
    UNKNOWN = "unknown"


class ResponsibleRelationship(TextChoices):
    """Who the patient is to the insured."""

    SELF = "Self"
    SPOUSE = "Spouse"
    OTHER = "Other"


class PayorSource(TextChoices):
    """Who added a payor."""

    PLATFORM = "platform"
    TEAM = "team"


class PayorProvider(TextChoices):
    """Clearing houses, each with its own ids of payors."""

    CHANGE_HEALTHCARE = "change_healthcare"
    AVAILITY = "availity"
    STEDI = "stedi"
    WAYSTAR = "waystar"
    CLAIM_MD = "claim_md"
    APERO = "apero"
    PVERIFY = "pverify"
