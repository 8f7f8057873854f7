"""What a person reads of each way a link can end."""

from collections.abc import Mapping
from typing import Final

from links import selectors
from links.catalogue import LoginKind, Provider, ProviderState
from links.constants import LinkErrorType, link_error_type_read
from links.services import logins, password_logins

_UNREACHED: Final = "{provider} can't be reached from here right now. Nothing was connected; please try again later."

#: A try that failed, by why.
_FAILURES: Final[Mapping[LinkErrorType, str]] = {
    LinkErrorType.USER_CANCELLED: "You did not allow {provider} to share anything, so nothing was connected.",
    LinkErrorType.REQUIRED_SCOPES_NOT_GRANTED: (
        "Without at least one of the permissions that {provider} asked about, there is nothing to share."
        " Try again and leave what you are happy to share ticked."
    ),
    LinkErrorType.TOKEN_EXPIRED: "That took longer than this page may wait, so nothing was connected.",
    LinkErrorType.TOKEN_CONSUMED: "This link was used already, so nothing more was connected.",
    LinkErrorType.INVALID_TOKEN: (
        "This link does not belong to anybody any more, so nothing was connected. Ask {team} for a new one."
    ),
    LinkErrorType.PROVIDER_CREDENTIAL_ERROR: "{provider} did not confirm your login. It helps to try again.",
    LinkErrorType.PROVIDER_PASSWORD_EXPIRED: (
        "Your {provider} password has expired. Set a new one in {provider}'s own app or on its website,"
        " then come back and try again."
    ),
    LinkErrorType.PROVIDER_API_ERROR: _UNREACHED,
    LinkErrorType.UNSUPPORTED_REGION: (
        "{provider} knows no such account in that region. Choose the region your account was made in, and try again."
    ),
    LinkErrorType.DUPLICATE_CONNECTION: (
        "This {provider} account is already connected to another person at {team}. Use an account of your own,"
        " or ask {team} to disconnect the other one first."
    ),
    LinkErrorType.INCORRECT_MFA_CODE: "That is not the code {provider} sent. Check it and type it again.",
}
#: What a form says in the place of the sentence above.
_FORM_FAILURES: Final[Mapping[tuple[LoginKind, LinkErrorType], str]] = {
    (LoginKind.PASSWORD, LinkErrorType.PROVIDER_CREDENTIAL_ERROR): (
        "{provider} does not know this name and password. Check both and try again."
    ),
    (LoginKind.EMAIL, LinkErrorType.PROVIDER_CREDENTIAL_ERROR): (
        "{provider} has shared no account with this address. Check the address, and that you shared your readings."
    ),
}

#: A link that leads nowhere any more, by why: title, words.
_ENDS: Final[Mapping[LinkErrorType, tuple[str, str]]] = {
    LinkErrorType.TOKEN_EXPIRED: (
        "This link has expired",
        "Links work for an hour, to keep your data safe. Go back to where you came from and start again.",
    ),
    LinkErrorType.TOKEN_CONSUMED: (
        "This link was used already",
        "Each link connects one provider. To connect another, go back to where you came from and start again.",
    ),
    LinkErrorType.TOKEN_NOT_VALIDATED: (
        "This link was not opened from its start",
        "Go back to where you came from and open it again.",
    ),
}
_END: Final = (
    "This link doesn't work here",
    (
        "It may be incomplete, it was opened in another browser, or this one keeps no cookies."
        " Go back to where you came from and start again."
    ),
)


def refusal_words(provider: Provider, team_name: str) -> str:
    """Why nobody can connect a provider here, for the person."""
    if provider.login is LoginKind.NONE:
        return f"There is nothing to log in to at {provider.name}: {team_name} adds such values itself."
    if provider.state is ProviderState.CLOSED and provider.note:
        return f"{provider.name} can't be connected here. {provider.note}"
    return f"{provider.name} can't be connected here: it is not set up for {team_name}. Please let them know."


def refusal_text(provider: Provider) -> str:
    """The same for developers."""
    if provider.state is ProviderState.CLOSED and provider.note:
        return selectors.refusal_of(provider)
    if provider.login is LoginKind.NONE:
        return "This provider can't be connected here: there is nothing to log in to."
    return logins.NOT_SET_UP_TEXT


def failure_words(provider: Provider, error_type: str, team_name: str, *, login: LoginKind | None = None) -> str:
    """Why a try failed, in a sentence or two with a way on. `login`: told beside the form of this kind."""
    known = link_error_type_read(error_type)
    text = _FORM_FAILURES.get((login, known)) if login else None
    return (text or _FAILURES.get(known, _UNREACHED)).format(provider=provider.name, team=team_name)


def end_words(error_type: LinkErrorType) -> tuple[str, str]:
    """Title and words of a link that leads nowhere any more."""
    return _ENDS.get(error_type, _END)


def error_text(error_type: LinkErrorType, login: LoginKind | None = None) -> str:
    """The text of `error`, which developers read."""
    password = login in (LoginKind.PASSWORD, LoginKind.EMAIL)
    texts = password_logins.ERROR_TEXTS if password and error_type in password_logins.ERROR_TEXTS else {}
    common = {**password_logins.ERROR_TEXTS, **logins.ERROR_TEXTS}
    return texts.get(error_type) or common.get(error_type, str(error_type))
