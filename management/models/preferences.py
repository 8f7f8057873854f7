"""What a team chooses for each of its environments: switches, brand, logo, and what its people must grant."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.ids import uuid_ordered, uuid_random
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from management.constants import (
    BRAND_TEXT_MAXIMUM_CHARACTERS,
    LOGO_MAXIMUM_BYTES,
    NAME_MAXIMUM_CHARACTERS,
    SCOPE_MAXIMUM_CHARACTERS,
    URL_MAXIMUM_CHARACTERS,
    DuplicateAccountPolicy,
    LogoMediaType,
)
from management.models.tenants import Team


class TeamSettings(models.Model):
    """Switches of a team in one environment. A missing row means all defaults."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    aggregation_enabled = models.BooleanField(default=True)
    company_name = models.CharField(max_length=NAME_MAXIMUM_CHARACTERS, blank=True, default="")
    brand_color = models.CharField(max_length=7, blank=True, default="")
    company_website = models.CharField(max_length=URL_MAXIMUM_CHARACTERS, blank=True, default="")
    company_address = models.CharField(max_length=BRAND_TEXT_MAXIMUM_CHARACTERS, blank=True, default="")
    support_email = models.EmailField(blank=True, default="")
    support_contact = models.CharField(max_length=BRAND_TEXT_MAXIMUM_CHARACTERS, blank=True, default="")
    #: Where the customer keeps its logo; what hosted pages show is the `TeamLogo`, from our own address.
    logo_url = models.CharField(max_length=URL_MAXIMUM_CHARACTERS, blank=True, default="")
    #: Whether patients get text messages and e-mails about their lab orders.
    lab_tests_patient_sms_communication_enabled = models.BooleanField(default=True)
    lab_tests_patient_email_communication_enabled = models.BooleanField(default=True)
    #: Who is written to about critical lab results; empty for nobody.
    critical_result_notification_email = models.EmailField(blank=True, default="")
    #: Activity series of each device of a person, not of the person alone.
    sdk_per_device_activity_timeseries = models.BooleanField(default=False)
    #: Events for results that are not whole yet.
    partial_webhooks_enabled = models.BooleanField(default=False)
    #: Whether orders for people under 18 are taken.
    minor_ordering_enabled = models.BooleanField(default=False)
    #: Whether patients are shown pages of ours about their orders.
    patient_experience = models.BooleanField(default=False)
    #: Empty: any https address. Else `redirect_url` must begin with one of these.
    redirect_url_prefixes = ArrayField(models.URLField(max_length=500), default=list, blank=True)
    #: Provider slugs that the hosted link page lists, in this order; empty for all that can be connected.
    link_providers = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    #: Origins (`https://app.example`) that may show the hosted link pages in a frame; empty for none.
    link_frame_origins = ArrayField(models.CharField(max_length=300), default=list, blank=True)
    #: What happens when a vendor account that one user has connected is connected by another.
    duplicate_account_policy = models.CharField(
        max_length=10, choices=DuplicateAccountPolicy.choices, default=DuplicateAccountPolicy.ALLOW
    )

    #: Beginnings of event types: the team is sent no others, whatever its endpoints choose; empty for all.
    event_type_prefixes = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    #: Who is written to when an endpoint is disabled for its failures; empty for nobody.
    webhook_notice_email = models.EmailField(blank=True, default="")

    objects = TeamQuerySet["TeamSettings"].as_manager()

    class Meta:
        db_table = "management_team_settings"
        verbose_name_plural = "team settings"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment"], name="team_settings_once"),
            choice_check("duplicate_account_policy", DuplicateAccountPolicy.values, "management_team_settings"),
            environment_check("management_team_settings"),
        ]

    @property
    def reject_duplicate_connection(self) -> bool:
        """The policy as the switch of the management API: whether a second user is refused."""
        return self.duplicate_account_policy == DuplicateAccountPolicy.REFUSE


class TeamLogo(models.Model):
    """A team's picture on the hosted link pages, served from our own address."""

    id = models.UUIDField(primary_key=True, default=uuid_random, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    media_type = models.CharField(max_length=20, choices=LogoMediaType.choices)
    content = models.BinaryField(max_length=LOGO_MAXIMUM_BYTES)
    created_at = models.DateTimeField()

    objects = TeamQuerySet["TeamLogo"].as_manager()

    class Meta:
        db_table = "management_team_logo"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment"], name="team_logo_once"),
            choice_check("media_type", LogoMediaType.values, "management_team_logo"),
            environment_check("management_team_logo"),
        ]


class ScopeRequirement(models.Model):
    """What a team's people must and may grant at one provider; a provider without a row has no requirements."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    provider = models.CharField(max_length=40)
    required_scopes = ArrayField(models.CharField(max_length=SCOPE_MAXIMUM_CHARACTERS), default=list)
    optional_scopes = ArrayField(models.CharField(max_length=SCOPE_MAXIMUM_CHARACTERS), default=list)

    objects = TeamQuerySet["ScopeRequirement"].as_manager()

    class Meta:
        db_table = "management_scope_requirement"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment", "provider"], name="scope_requirement_once"),
            environment_check("management_scope_requirement"),
        ]
