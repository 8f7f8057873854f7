"""How a team shows itself on the hosted pages, and who may frame them."""

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from healthsvc.kernel.principal import TeamContext
from management import selectors as management_selectors
from management.branding import color_problem, origin_problem
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
    good_color = bool(color) and color_problem(color) is None
    return Brand(
        name=name,
        stylesheet_url=_reverse("link_brand_style", color=color[1:].lower()) if good_color else "",
        logo_url=_reverse("link_brand_logo", logo_id=logo_id) if logo_id else "",
        frame_origins=tuple(origin for origin in found.link_frame_origins if origin_problem(origin) is None),
        link_providers=tuple(found.link_providers),
    )


def team_logo_url(team: TeamContext) -> str | None:
    """The whole address of the team's logo; None where it has none."""
    logo_id = management_selectors.team_logo_id(team)
    return f"{settings.BASE_URL}{_reverse('link_brand_logo', logo_id=logo_id)}" if logo_id else None


def _reverse(name: str, **parts: object) -> str:
    return reverse(name, kwargs=parts, urlconf=settings.ROOT_URLCONF)
