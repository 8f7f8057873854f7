"""Payors that a team added for itself, and the words they are found by."""

from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from users.constants import PAYOR_CODE_MAXIMUM_CHARACTERS, PAYOR_NAME_MAXIMUM_CHARACTERS, PayorProvider
from users.words import WORD_MAXIMUM_CHARACTERS


class Payor(models.Model):
    """A payor of one team. `code` is made here and stays."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    code = models.CharField(max_length=PAYOR_CODE_MAXIMUM_CHARACTERS)
    name = models.CharField(max_length=PAYOR_NAME_MAXIMUM_CHARACTERS)
    #: `PostalAddress.as_json`; a company's, not a person's.
    address = models.JSONField()
    #: The clearing house that calls it `provider_payor_id`; both empty where none was named.
    provider = models.CharField(max_length=20, choices=PayorProvider.choices, blank=True, default="")
    provider_payor_id = models.CharField(max_length=PAYOR_NAME_MAXIMUM_CHARACTERS, blank=True, default="")
    created_at = models.DateTimeField()

    objects = TeamQuerySet["Payor"].as_manager()

    class Meta:
        db_table = "users_payor"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment", "code"], name="users_payor_code_once"),
            choice_check("provider", ["", *PayorProvider.values], "users_payor"),
            models.CheckConstraint(
                condition=models.Q(provider="", provider_payor_id="")
                | (~models.Q(provider="") & ~models.Q(provider_payor_id="")),
                name="users_payor_provider_with_id",
            ),
            environment_check("users_payor"),
        ]
        indexes = [
            models.Index(fields=["team", "environment", "provider_payor_id"], name="users_payor_by_provider_id"),
        ]

    def __str__(self) -> str:
        return self.code


class PayorWord(models.Model):
    """One word of a payor's name, found by its beginning: a range, which row-level security lets an index answer."""

    id = models.BigAutoField(primary_key=True)
    #: Without an index of its own: the unique key begins with it.
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+", db_index=False)
    environment = environment_field()
    payor = models.ForeignKey(Payor, models.CASCADE, related_name="words")
    word = models.CharField(max_length=WORD_MAXIMUM_CHARACTERS, db_collation="C")

    objects = TeamQuerySet["PayorWord"].as_manager()

    class Meta:
        db_table = "users_payor_word"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment", "word", "payor"], name="users_payor_word_once"),
            environment_check("users_payor_word"),
        ]

    def __str__(self) -> str:
        return self.word
