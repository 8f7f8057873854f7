"""The forms of the hosted pages: what a provider's account is opened with, and the words at each mistake."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms

from links.regions import region_name

_USERNAME_MAXIMUM_CHARACTERS: Final = 200
_PASSWORD_MAXIMUM_CHARACTERS: Final = 500
#: Providers send four to ten digits or letters; people type spaces and dashes between them.
_CODE_MAXIMUM_CHARACTERS: Final = 40
#: A telephone's keyboard must leave names alone.
_PLAIN_TEXT: Final = {"autocapitalize": "none", "autocorrect": "off", "spellcheck": "false"}

_SHOWN_AGAIN: Final = ("username", "email", "region")


class LinkForm(forms.Form):
    """A form whose mistakes are told beside the fields, by us."""

    use_required_attribute = True

    def add_region(self, regions: Sequence[str]) -> None:
        """Ask for the region, where the provider keeps accounts apart by it."""
        if regions:
            choices = [("", "Choose…"), *((slug, region_name(slug)) for slug in regions)]
            self.fields["region"] = forms.ChoiceField(
                label="Region of your account",
                choices=choices,
                error_messages={"required": "Choose the region your account was made in."},
            )

    def mark(self) -> None:
        """Tell readers of the page which fields are wrong, and where it says why."""
        for name in self.errors:
            if name in self.fields:
                self.fields[name].widget.attrs["aria-invalid"] = "true"
                self.fields[name].widget.attrs["aria-describedby"] = f"{name}-error"

    @property
    def problems(self) -> dict[str, str]:
        """The first mistake of each field."""
        return {name: str(errors[0]) for name, errors in self.errors.items() if name in self.fields and errors}

    @property
    def typed(self) -> dict[str, str]:
        """What was typed and may be shown again: neither passwords nor codes."""
        return {name: str(self.data.get(name, "")) for name in self.fields if name in _SHOWN_AGAIN}

    def recall(self, *, typed: Mapping[str, str], problems: Mapping[str, str]) -> None:
        """As it was sent before, with the mistakes beside the fields."""
        self.initial.update(typed)
        self.full_clean()
        self.cleaned_data: dict[str, Any] = {}
        for name, words in problems.items():
            if name in self.fields:
                self.add_error(name, words)

    @property
    def region(self) -> str | None:
        """The region that was chosen."""
        return self.cleaned_data.get("region") or None


class PasswordForm(LinkForm):
    """A name and a password, which is never shown again."""

    username = forms.CharField(
        max_length=_USERNAME_MAXIMUM_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "username", **_PLAIN_TEXT}),
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        max_length=_PASSWORD_MAXIMUM_CHARACTERS,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Type your password."},
    )

    def __init__(self, *arguments: Any, username_label: str, regions: Sequence[str], **values: Any) -> None:
        super().__init__(*arguments, **values)
        name = self.fields["username"]
        name.label = username_label
        name.error_messages["required"] = f"Type your {username_label[:1].lower()}{username_label[1:]}."
        if "mail" in username_label.lower():
            name.widget.attrs["inputmode"] = "email"
        self.add_region(regions)


class EmailForm(LinkForm):
    """The address that an account is known by."""

    email = forms.EmailField(
        label="E-mail address",
        max_length=_USERNAME_MAXIMUM_CHARACTERS,
        widget=forms.EmailInput(attrs={"autocomplete": "email", **_PLAIN_TEXT}),
        error_messages={"required": "Type your e-mail address.", "invalid": "Type a whole address: ada@example.com."},
    )

    def __init__(self, *arguments: Any, regions: Sequence[str], **values: Any) -> None:
        super().__init__(*arguments, **values)
        self.add_region(regions)


class CodeForm(LinkForm):
    """The code that a provider sent."""

    code = forms.CharField(
        label="Code",
        max_length=_CODE_MAXIMUM_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", **_PLAIN_TEXT}),
        error_messages={"required": "Type the code."},
    )

    def clean_code(self) -> str:
        """Without what people put between the digits."""
        code: str = self.cleaned_data["code"].replace(" ", "").replace("-", "")
        if not code.isalnum():
            raise forms.ValidationError("A code has digits and letters only.")
        return code
