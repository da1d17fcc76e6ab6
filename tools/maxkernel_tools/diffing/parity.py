"""What must agree before numbers are compared, and what merely should be known. Runs before any matching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxkernel_tools.diffing.matching import ModulePair
from maxkernel_tools.traces.lanes import same_device
from maxkernel_tools.traces.profile import TraceProfile

_MAX_PARAMETERS = 3


@dataclass(frozen=True)
class Parity:
    """``refusals`` forbid a comparison; ``notes`` qualify it."""

    refusals: tuple[str, ...]
    notes: tuple[str, ...]


def compare_captures(baseline: TraceProfile, candidate: TraceProfile) -> Parity:
    """Compare device, clock, flags, truncation and format of two captures."""
    refusals: list[str] = []
    notes: list[str] = []
    for side, profile in (("baseline", baseline), ("candidate", candidate)):
        if profile.capture.truncated:
            refusals.append(f"The {side} is truncated: events are missing, so nothing is summed.")
        elif not profile.ops:
            refusals.append(f"The {side} holds no ops of a TPU.")
        notes.extend(f"{side}: {warning}" for warning in profile.capture.warnings)
    one, two = baseline.device, candidate.device
    if one.kind and two.kind:
        if not same_device(one.kind, two.kind):
            refusals.append(f"Devices differ: {one.kind} and {two.kind}.")
    else:
        unnamed = [side for side, device in (("baseline", one), ("candidate", two)) if not device.kind]
        notes.append(f"The device is not named in the capture of the {' and the '.join(unnamed)}.")
    if len(one.cores) != len(two.cores):
        notes.append(f"Cores in the capture differ: {len(one.cores)} and {len(two.cores)}.")
    if baseline.clock != candidate.clock:
        refusals.append(f"Clocks differ: {baseline.clock} and {candidate.clock}.")
    mine, theirs = baseline.capture.flags, candidate.capture.flags
    refusals.extend(
        f"Flags of the capture differ: {name} is {mine.get(name, 'unset')} and {theirs.get(name, 'unset')}; "
        "tracing inside kernels changes the schedule."
        for name in sorted(mine.keys() | theirs.keys())
        if mine.get(name) != theirs.get(name)
    )
    versions = baseline.capture.versions, candidate.capture.versions
    notes.extend(
        f"{name} differs: {versions[0][name]} and {versions[1][name]}."
        for name in sorted(versions[0].keys() & versions[1].keys())
        if versions[0][name] != versions[1][name]
    )
    return Parity(tuple(refusals), tuple(notes))


def compare_modules(pairs: Sequence[ModulePair]) -> tuple[str, ...]:
    """Say where programs, their parameters or their execution counts differ."""
    notes: list[str] = []
    for pair in pairs:
        one, two = pair.baseline, pair.candidate
        if one is None or two is None:
            notes.append(f"{pair.name} runs only in the {'candidate' if one is None else 'baseline'}.")
            continue
        if one.name != two.name:
            notes.append(f"{one.name} is compared with {two.name}: the only programs left on both sides.")
        if one.runs != two.runs:
            notes.append(f"{one.name} ran {one.runs} times and {two.runs} times: figures are per run.")
        changed = [
            f"{name} {one.parameters[name]} and {two.parameters[name]}"
            for name in sorted(one.parameters.keys() & two.parameters.keys())
            if one.parameters[name] != two.parameters[name]
        ]
        if changed:
            more = f" and {len(changed) - _MAX_PARAMETERS} more" if len(changed) > _MAX_PARAMETERS else ""
            notes.append(f"Parameters of {one.name} differ: {', '.join(changed[:_MAX_PARAMETERS])}{more}.")
    return tuple(notes)
