"""How a team shows itself on the hosted pages, and who may frame them."""

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from healthsvc.kernel.mail import address_is_plain
from healthsvc.kernel.principal import TeamContext
from management import selectors as management_selectors
from management.branding import WEB_SCHEMES, color_problem, origin_problem, web_origin
from management.models import Team


@dataclass(frozen=True, slots=True)
class Brand:
    """A team's name, its stylesheet and logo ('' where it has none), and the origins that may frame its pages."""

    name: str
    stylesheet_url: str
    logo_url: str
    frame_origins: tuple[str, ...]
    #: Slugs that the team itself chose for its list.
    link_providers: tuple[str, ...] = ()
    #: Where the logo is, if that is not our own address: `https://cdn.example`.
    logo_origin: str = ""
    #: How people reach the team, each '' where it told none.
    website_url: str = ""
    support_email: str = ""
    support_contact: str = ""
    postal_address: str = ""

    @property
    def reachable(self) -> bool:
        """Whether there is anything to say of who this is."""
        return any((self.website_url, self.support_email, self.support_contact, self.postal_address))

    @property
    def framed(self) -> bool:
        """Whether any page may show these in a frame."""
        return bool(self.frame_origins)


def brand_of(team: TeamContext) -> Brand:
    """The team's brand. Two queries, three where it has no company name."""
    found = management_selectors.team_settings(team)
    color, logo_id = found.brand_color, management_selectors.team_logo_id(team)
    name: str = found.company_name or Team.objects.get(pk=team.team_id).name
    # What an operator wrote past the admin's checks must not end up in a header or an address.
    logo_origin = web_origin(found.logo_url) or ""
    good_color = bool(color) and color_problem(color) is None
    return Brand(
        name=name,
        stylesheet_url=_reverse("link_brand_style", color=color[1:].lower()) if good_color else "",
        logo_url=_reverse("link_brand_logo", logo_id=logo_id) if logo_id else found.logo_url if logo_origin else "",
        frame_origins=tuple(origin for origin in found.link_frame_origins if origin_problem(origin) is None),
        link_providers=tuple(found.link_providers),
        logo_origin="" if logo_id else logo_origin,
        website_url=found.company_website if web_origin(found.company_website, schemes=WEB_SCHEMES) else "",
        support_email=found.support_email if address_is_plain(found.support_email) else "",
        support_contact=found.support_contact,
        postal_address=found.company_address,
    )


def team_logo_url(team: TeamContext) -> str | None:
    """The whole address of the team's logo: the one we keep, else the one the team keeps; None where it has none."""
    logo_id = management_selectors.team_logo_id(team)
    if logo_id:
        return f"{settings.BASE_URL}{_reverse('link_brand_logo', logo_id=logo_id)}"
    kept_by_team: str = management_selectors.team_settings(team).logo_url
    return kept_by_team if web_origin(kept_by_team) else None


def _reverse(name: str, **parts: object) -> str:
    return reverse(name, kwargs=parts, urlconf=settings.ROOT_URLCONF)
