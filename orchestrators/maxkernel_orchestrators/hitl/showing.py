"""What a person is shown, as plain text: plans, code as a diff, findings, profiles."""

from __future__ import annotations

import ast
import difflib

from maxkernel_orchestrators.roles import Plan
from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_tools.records.profiles import ProfileResult

_LONGEST = 400
_WORDS = {
    "device": "measured on a TPU",
    "schedule-model": "estimated from the compiler's schedule",
    "compiler-estimate": "estimated by the compiler",
}


def plan_words(name: str, plan: Plan) -> str:
    """A plan with the effect it expects."""
    effects = [
        f"  {expect.figure}: {expect.direction}" + (f", to {expect.factor:g} of what it is" if expect.factor else "")
        for expect in plan.expects
    ]
    lines = [f"Plan {name}: {plan.move}", f"  why: {plan.hypothesis}"]
    if plan.tiling:
        lines.append(f"  tiling: {plan.tiling}")
    if plan.vmem_bytes:
        lines.append(f"  VMEM: {plan.vmem_bytes / 2**20:.1f} MiB")
    lines.append("Expected effect:" if effects else "It promises no effect on any figure.")
    return "\n".join([*lines, *effects])


def code_words(before: str | None, after: str) -> str:
    """A kernel as a diff against the one it comes from; whole where it comes from none."""
    if not before:
        return f"A new kernel:\n\n{_cut(after)}"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return _cut("\n".join(lines)) or "The kernel is the one it comes from, to the letter."


def trouble_words(candidate: Candidate) -> str:
    """Why a kernel did not pass."""
    lines = [f"{candidate.name} is {candidate.state}: {candidate.problem}"]
    for finding in candidate.findings[:8]:
        where = f" line {finding.line}" if finding.line else ""
        lines.append(f"  {finding.severity} {finding.code}{where}: {finding.message} {finding.hint}".rstrip())
    return "\n".join(lines)


def profile_words(candidate: Candidate) -> str:
    """The profile of a verified kernel and what it suggests; every time with its source."""
    profile = candidate.profile
    if profile is None or profile.time_us is None:
        return f"{candidate.name} has no time."
    source = _WORDS.get(profile.time_source, profile.time_source)
    lines = [f"{candidate.name}: {profile.time_us:.1f} µs, {source}, bound by {profile.bound_by}."]
    if profile.roofline_fraction is not None:
        lines.append(f"  {profile.roofline_fraction:.0%} of the chip's roofline.")
    lines += _against(profile)
    lines += [f"  {finding.message} {finding.hint}".rstrip() for finding in profile.findings[:5]]
    return "\n".join(lines)


def _against(profile: ProfileResult) -> list[str]:
    speedup = profile.speedup
    if speedup is None:
        return []
    figures = f"{speedup.value:.2f}x [{speedup.low:.2f}, {speedup.high:.2f}] against {speedup.against}"
    claim = "" if speedup.significant and speedup.value > 1 else "; not a speed-up that can be claimed"
    return [f"  {figures}{claim}."]


def outline(source: str) -> str:
    """What a kernel's text says about itself: its functions, its parameters, its calls of Pallas. No model needed."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return f"It is not Python: {error}."
    lines: list[str] = []
    document = ast.get_docstring(tree)
    if document:
        lines.append(document.strip())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            words = ast.get_docstring(node)
            said = f": {words.strip().splitlines()[0]}" if words else ""
            lines.append(f"  {node.name}({ast.unparse(node.args)}){said}")
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in {"PARAMS", "SPACE"}:
            lines.append(f"  {ast.unparse(node)}")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("pallas_call", "BlockSpec", "GridSpec")):
            lines.append(f"  {_cut(ast.unparse(node), 12)}")
    return "\n".join(lines)


def _cut(text: str, limit: int = _LONGEST) -> str:
    lines = text.splitlines()
    return text if len(lines) <= limit else "\n".join([*lines[:limit], f"[{len(lines) - limit} lines more]"])
