"""The few SVG shapes that our pictures are drawn with. Every text is escaped here, once."""

from __future__ import annotations

from html import escape

from chaos.reports.printable import printable

FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
# The widest of the fonts above needs about this much of its size for a character.
CHARACTER_EM = 0.6
CAPITAL_EM = 0.8


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def width_px(text: str, size_px: float) -> float:
    """An upper estimate: nothing may overlap where the viewer's font is a wide one."""
    capitals = sum(one.isupper() for one in text)
    return size_px * (capitals * CAPITAL_EM + (len(text) - capitals) * CHARACTER_EM)


def shortened(text: str, room_px: float, size_px: float) -> str:
    """The text, cut with an ellipsis to what fits."""
    characters = max(int(room_px / (size_px * CHARACTER_EM)), 1)
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def text(x: float, y: float, words: str, size_px: float = 11, **style: str) -> str:
    place = f'x="{number(x)}" y="{number(y)}" font-size="{number(size_px)}"'
    return f"<text {place}{_style(style)}>{_escaped(words)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, **style: str) -> str:
    ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
    return f"<line {ends}{_style(style)}/>"


def box(x: float, y: float, width: float, height: float, **style: str) -> str:
    size = f'width="{number(max(width, 0.5))}" height="{number(height)}"'
    return f'<rect x="{number(x)}" y="{number(y)}" {size}{_style(style)}/>'


def path(points: list[tuple[float, float]], **style: str) -> str:
    steps = " L".join(f"{number(x)} {number(y)}" for x, y in points)
    return f'<path d="M{steps}"{_style(style)}/>'


def group(parts: list[str], tip: str) -> str:
    """Shapes that belong together, with a text that shows when one points at them."""
    return f"<g><title>{_escaped(tip)}</title>{''.join(parts)}</g>"


def page(width: float, height: float, parts: list[str], title: str) -> str:
    size = f'width="{number(width)}" height="{number(height)}"'
    view = f'viewBox="0 0 {number(width)} {number(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img" font-family="{FONT}">'
    back = box(0, 0, width, height, fill="#ffffff")
    return "\n".join([head, f"<title>{_escaped(title)}</title>", back, *parts, "</svg>", ""])


def _escaped(words: str) -> str:
    """XML has no place for a control character, not even as an entity."""
    return "\n".join(escape(printable(one)) for one in words.split("\n"))


def _style(style: dict[str, str]) -> str:
    return "".join(f' {name.replace("_", "-")}="{escape(value)}"' for name, value in style.items())
