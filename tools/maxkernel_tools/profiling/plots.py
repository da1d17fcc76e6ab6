"""Plots of a profile as plain SVG text: roofline, unit use along the schedule, VMEM map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from maxkernel_tools.chips import Chip
from maxkernel_tools.profiling.units import UnitTally
from maxkernel_tools.records.profiles import SideProfile
from maxkernel_tools.schedule.regions import Allocation

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 360, 80, 50
_STYLE = "<style>text{font:12px sans-serif;fill:#222}.t{font-weight:bold}.g{stroke:#ccc}</style>"
_BINS = 160


def _svg(body: Sequence[str], title: str, height: int = _HEIGHT) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">'
    )
    caption = f'<text class="t" x="{_LEFT}" y="20">{escape(title)}</text>'
    return "\n".join([head, _STYLE, '<rect width="100%" height="100%" fill="white"/>', caption, *body, "</svg>\n"])


def roofline_svg(profile: SideProfile, hardware: Chip, dtype: str = "bf16") -> str | None:
    """Draw attainable and estimated flop/s over arithmetic intensity; None without flops or bytes."""
    if not profile.flops or not profile.hbm_bytes or profile.time_us <= 0:
        return None
    peak, bandwidth = hardware.peak_for(dtype), hardware.hbm_bytes_per_s
    intensity = profile.flops / profile.hbm_bytes
    reached = profile.flops / profile.time_us * 1e6
    low, high = math.floor(math.log10(min(intensity, 1.0))), math.ceil(math.log10(max(intensity, peak / bandwidth))) + 1
    bottom, top = math.floor(math.log10(min(reached, bandwidth * 10**low))), math.log10(peak) + 0.3

    def x(value: float) -> float:
        return _LEFT + (math.log10(value) - low) / (high - low) * (_WIDTH - _LEFT - 30)

    def y(value: float) -> float:
        return 40 + (top - math.log10(value)) / (top - bottom) * (_HEIGHT - 40 - _BOTTOM)

    ridge = peak / bandwidth
    start = max(10**low, 10**bottom / bandwidth)
    corners = ((start, bandwidth * start), (ridge, peak), (10.0**high, peak))
    line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in corners)
    here = f"estimated {reached / 1e12:.1f} Tflop/s at {intensity:.1f} flop/byte"
    roof = f"peak {peak / 1e12:.0f} Tflop/s, {bandwidth / 1e9:.0f} GB/s"
    body = [
        f'<polyline fill="none" stroke="#06c" stroke-width="2" points="{line}"/>',
        f'<circle cx="{x(intensity):.1f}" cy="{y(reached):.1f}" r="6" fill="#c30"/>',
        f'<text x="{x(intensity) + 10:.1f}" y="{y(reached) + 4:.1f}">{here}</text>',
        f'<text x="{x(ridge) + 6:.1f}" y="{y(peak) - 8:.1f}">{roof}</text>',
        f'<text x="{_WIDTH // 2 - 60}" y="{_HEIGHT - 10}">flop per HBM byte (log)</text>',
    ]
    body += [
        f'<text x="{x(10.0**power) - 8:.1f}" y="{_HEIGHT - _BOTTOM + 18}">1e{power}</text>'
        for power in range(low, high + 1)
    ]
    return _svg(body, f"Roofline, {hardware.target.value} (schedule model, not measured)")


def unit_use_svg(name: str, tally: UnitTally) -> str:
    """Draw how full each unit's issue slots are along the schedule; a bar below shows how often each part runs."""
    used, units = tally.use.used, tally.use.units
    edges = np.linspace(0, len(used), min(_BINS, max(1, len(used))) + 1).astype(int)
    wide = (_WIDTH - _LEFT - 20) / (len(edges) - 1)
    body: list[str] = []
    for row, unit in enumerate(units):
        top = 40 + row * 24
        body.append(f'<text x="8" y="{top + 15}">{escape(unit)}</text>')
        full = max(1, tally.use.capacity.get(unit, 1))
        for at in range(len(edges) - 1):
            share = float(used[edges[at] : edges[at + 1], row].mean()) / full
            if share > 0.005:
                body.append(
                    f'<rect x="{_LEFT + at * wide:.1f}" y="{top}" width="{wide + 0.3:.1f}" height="20" '
                    f'fill="#c30" fill-opacity="{min(1.0, share):.2f}"/>'
                )
    top = 50 + len(units) * 24
    body.append(f'<text x="8" y="{top + 15}">runs</text>')
    most = float(tally.weights.max()) or 1.0
    for at in range(len(edges) - 1):
        height = 20 * float(tally.weights[edges[at] : edges[at + 1]].mean()) / most
        body.append(
            f'<rect x="{_LEFT + at * wide:.1f}" y="{top + 20 - height:.1f}" width="{wide + 0.3:.1f}" '
            f'height="{height:.1f}" fill="#06c"/>'
        )
    body.append(f'<text x="{_LEFT}" y="{top + 40}">bundle 0 to {len(used) - 1}; at most {most:g} runs</text>')
    return _svg(body, f"Issue slots in use along the schedule of {name}", top + 55)


def vmem_svg(name: str, held: Sequence[Allocation], hardware: Chip, limit_bytes: int) -> str:
    """Draw what lies in VMEM, largest first, against the limit."""
    rows = sorted(held, key=lambda one: -one.nbytes)[:14]
    total = sum(one.nbytes for one in held)
    scale = (_WIDTH - 360) / max(1, rows[0].nbytes if rows else 1)
    body: list[str] = []
    for row, one in enumerate(rows):
        top = 40 + row * 22
        body.append(f'<rect x="8" y="{top}" width="{max(1.0, one.nbytes * scale):.1f}" height="16" fill="#06c"/>')
        body.append(
            f'<text x="{14 + one.nbytes * scale:.1f}" y="{top + 13}">{one.nbytes / 1024:.0f} KiB '
            f"{escape(one.tag.partition('. ')[0][:60])}</text>"
        )
    end = 52 + len(rows) * 22
    body.append(
        f'<text x="8" y="{end}">{total / 2**20:.2f} MiB in all; limit {limit_bytes / 2**20:.0f} MiB, '
        f"{hardware.vmem_bytes / 2**20:.0f} MiB on the chip</text>"
    )
    return _svg(body, f"VMEM of {name}", end + 20)
