"""A team's one colour made into the link pages' colours, readable in light and in dark (WCAG 2.2, contrast 4.5)."""

from dataclasses import dataclass
from typing import Final, TypeAlias

#: Red, green and blue, each from 0 to 1.
Color: TypeAlias = tuple[float, float, float]

#: What text needs, and a little more, because colours are rounded to 256 steps.
CONTRAST_MINIMUM: Final = 4.6
_WHITE: Final[Color] = (1.0, 1.0, 1.0)
_BLACK: Final[Color] = (0.0, 0.0, 0.0)
#: The pages' own grounds (static/links/link.css): the sheet and what lies around it.
_LIGHT_GROUNDS: Final = ("#ffffff", "#f3f5f4")
_DARK_GROUNDS: Final = ("#18201e", "#101614")
_STEPS: Final = 64


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one scheme that depend on the team, as the web writes them."""

    accent: str
    accent_strong: str
    on_accent: str
    tint: str


def palette_light(color: str) -> Palette:
    """For the light scheme: `color`, darkened as far as reading needs."""
    return _palette(color_read(color), _LIGHT_GROUNDS, towards=_BLACK, on_accent=_WHITE, tint_share=0.07)


def palette_dark(color: str) -> Palette:
    """For the dark scheme: `color`, lightened as far as reading needs."""
    return _palette(color_read(color), _DARK_GROUNDS, towards=_WHITE, on_accent=_BLACK, tint_share=0.12)


def stylesheet(color: str) -> str:
    """The rules that colour the pages."""
    light, dark = _rules(palette_light(color)), _rules(palette_dark(color))
    return f":root{{--brand:{color};{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def contrast(one: Color, other: Color) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2.2, contrast ratio)."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def color_read(color: str) -> Color:
    """`#rrggbb` as a colour."""
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def _palette(color: Color, grounds: tuple[str, str], *, towards: Color, on_accent: Color, tint_share: float) -> Palette:
    sheet, around = (color_read(ground) for ground in grounds)
    # The last step is black or white, which can be read on every ground of its scheme.
    steps = (_mixed(color, towards, step / _STEPS) for step in range(_STEPS))
    accent = next((one for one in steps if _readable(one, sheet, around, on_accent, tint_share)), towards)
    tint, strong = _mixed(sheet, accent, tint_share), _mixed(accent, towards, 0.25)
    return Palette(*(_written(one) for one in (accent, strong, on_accent, tint)))


def _readable(accent: Color, sheet: Color, around: Color, on_accent: Color, tint_share: float) -> bool:
    """Whether text of this colour can be read on every ground, and text on it."""
    grounds = (sheet, around, _mixed(sheet, accent, tint_share), on_accent)
    return min(contrast(accent, ground) for ground in grounds) >= CONTRAST_MINIMUM


def _rules(palette: Palette) -> str:
    return (
        f"--accent:{palette.accent};--accent-strong:{palette.accent_strong};"
        f"--on-accent:{palette.on_accent};--tint:{palette.tint}"
    )


def _mixed(one: Color, other: Color, share: float) -> Color:
    """`one` with a share of `other` in it."""
    red, green, blue = (here + (there - here) * share for here, there in zip(one, other, strict=True))
    return red, green, blue


def _written(color: Color) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in color)


def _luminance(color: Color) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
