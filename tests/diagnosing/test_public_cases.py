"""The handed kernels: the code and line expected on their targets, silence elsewhere and on the fixed ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maxkernel_tools.records.targets import Target
from tests.diagnosing.kernel_files import compiled, serious
from tests.shared_data import SHARED, shared_path

_FOLDER = SHARED / "cases" / "kernels"
_TRUTH = json.loads((_FOLDER / "truth.json").read_text()) if (_FOLDER / "truth.json").exists() else {}
_BOTH = (Target.V5E, Target.V6E)
# The compiler alone takes minutes for this one before it says no.
_LONG = {"vmem-temporaries"}


def cases(which: str) -> list[object]:
    names = [name for name in _TRUTH if (_FOLDER / name / f"{which}.py").exists()] or ["absent"]
    return [pytest.param(name, marks=pytest.mark.slow) if name in _LONG else name for name in names]


def text_of(name: str, which: str) -> str:
    path: Path = shared_path("cases", "kernels", name, f"{which}.py")
    return path.read_text(encoding="utf-8")


@pytest.mark.toolchain
@pytest.mark.parametrize("name", cases("kernel"))
def test_kernel(name, portal, runtime):
    text, truth = text_of(name, "kernel"), _TRUTH[name]
    wanted = {Target(target) for target in truth["targets"]}
    targets = tuple(dict.fromkeys([*_BOTH, *wanted]))
    result = compiled(portal, runtime, text, tuple(truth["inputs"]), targets)
    for report in result.targets:
        if not truth["codes"] or report.target not in wanted:
            assert serious(report) == set()
            continue
        hits = [finding for finding in report.findings if finding.code.value in truth["codes"]]
        assert hits, [(f.code.value, f.message) for f in report.findings]
        assert any(finding.line in truth["lines"] for finding in hits)
        assert {code for code, _ in serious(report)} <= set(truth["codes"])


@pytest.mark.toolchain
@pytest.mark.parametrize("name", cases("fixed"))
def test_fixed(name, portal, runtime):
    text = text_of(name, "fixed")
    for report in compiled(portal, runtime, text, tuple(_TRUTH[name]["inputs"]), _BOTH).targets:
        assert serious(report) == set()
        assert report.ok
