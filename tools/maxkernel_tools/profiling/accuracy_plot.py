"""Plot of estimated against published times, as plain SVG text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from maxkernel_tools.profiling.accuracy import AccuracyCase

_SIZE, _LEFT, _TOP = 560, 70, 40
_COLOURS = ("#0066cc", "#cc3300", "#228833", "#aa3377")
_STYLE = "<style>text{font:12px sans-serif;fill:#222}.t{font-weight:bold}.s{font-size:10px}</style>"


def accuracy_svg(cases: Sequence[AccuracyCase]) -> str:
    """Draw each case's estimate over its published time on log axes, its interval as a bar.

    Args:
        cases: at least one.
    """
    values = [edge for case in cases for edge in (case.published_us, *case.interval_us)]
    low, high = math.log10(min(values)) - 0.05, math.log10(max(values)) + 0.05
    span = _SIZE - _LEFT - 20

    def x(value: float) -> float:
        return _LEFT + (math.log10(value) - low) / (high - low) * span

    def y(value: float) -> float:
        return _TOP + (high - math.log10(value)) / (high - low) * span

    first, last = 10**low, 10**high
    bottom = y(first)
    body = [
        f'<rect x="{_LEFT}" y="{_TOP}" width="{span}" height="{span}" fill="none" stroke="#999"/>',
        f'<line x1="{x(first):.1f}" y1="{y(first):.1f}" x2="{x(last):.1f}" y2="{y(last):.1f}" stroke="#999"/>',
    ]
    for tick in _ticks(first, last):
        body.append(f'<text x="{x(tick):.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{tick:g}</text>')
        body.append(f'<text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    groups = list(dict.fromkeys(case.group for case in cases))
    for case in cases:
        colour = _COLOURS[groups.index(case.group) % len(_COLOURS)]
        at, edges = x(case.published_us), [y(edge) for edge in case.interval_us]
        body.append(
            f'<line x1="{at:.1f}" y1="{edges[0]:.1f}" x2="{at:.1f}" y2="{edges[1]:.1f}" stroke="{colour}" '
            f'stroke-opacity="0.4" stroke-width="2"/>'
            f'<circle cx="{at:.1f}" cy="{y(case.estimate_us):.1f}" r="3.5" fill="{colour}">'
            f"<title>{escape(case.task)}: {case.error:+.1%}</title></circle>"
        )
    for row, group in enumerate(groups):
        top = _TOP + 20 + 18 * row
        body.append(f'<circle cx="{_LEFT + 14}" cy="{top - 4}" r="4" fill="{_COLOURS[row % len(_COLOURS)]}"/>')
        body.append(f'<text x="{_LEFT + 24}" y="{top}">{escape(group)}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SIZE}" height="{_SIZE}" viewBox="0 0 {_SIZE} {_SIZE}">'
    title = f'<text class="t" x="{_LEFT}" y="24">Estimated over published device time in µs (bars: intervals)</text>'
    return "\n".join([head, _STYLE, '<rect width="100%" height="100%" fill="white"/>', title, *body, "</svg>\n"])


def _ticks(first: float, last: float) -> list[float]:
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    return [tick for power in powers for tick in (10.0**power, 3 * 10.0**power) if first <= tick <= last]
