"""The handed kernels: every silent fault found at ``sanitize`` with its line, every corrected version accepted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.checking.support import case_call, judge, truth
from tests.shared_data import shared_path

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

pytestmark = pytest.mark.toolchain

SILENT = (
    "zero-grid",
    "no-init",
    "parallel-reduction",
    "dma-no-wait",
    "sem-deadlock",
    "alias-no-copy",
    "prng",
    "loop-oob",
)
FIXED_HERE = ("parallel-reduction", "sem-deadlock", "loop-oob")


@pytest.fixture
def cases() -> Path:
    return shared_path("cases", "kernels")


@pytest.mark.parametrize("name", SILENT)
def test_a_silent_fault_is_found_with_its_line(name: str, cases: Path, portal: BlockingPortal, runtime: Any) -> None:
    expected = truth(cases)[name]
    result = portal.call(judge, runtime, case_call(cases, name, "kernel.py"), "sanitize")
    assert result.verdict == ("inconclusive" if name == "prng" else "incorrect")
    matching = [item for item in result.findings if item.code.value in expected["codes"]]
    assert matching, [item.code.value for item in result.findings]
    assert any(item.line in expected["lines"] for item in matching), [item.line for item in matching]
    assert all(item.hint for item in matching)


def test_the_starving_semaphore_is_named(cases: Path, portal: BlockingPortal, runtime: Any) -> None:
    result = portal.call(judge, runtime, case_call(cases, "sem-deadlock", "kernel.py"), "quick")
    assert "sem[1]" in next(item.message for item in result.findings if item.code.value == "deadlock")


@pytest.mark.parametrize("name", FIXED_HERE)
def test_a_corrected_version_is_accepted(name: str, cases: Path, portal: BlockingPortal, runtime: Any) -> None:
    result = portal.call(judge, runtime, case_call(cases, name, "fixed.py"), "sanitize")
    assert result.verdict == "correct", [item.message for item in result.findings]
    assert result.sanitizer is not None
    assert result.sanitizer.cores == (1, 2)


@pytest.mark.slow
def test_every_corrected_version_is_accepted(cases: Path, portal: BlockingPortal, runtime: Any) -> None:
    names = [name for name in truth(cases) if (cases / name / "fixed.py").exists() and name not in FIXED_HERE]
    assert len(names) > 15
    refused = {}
    for name in names:
        result = portal.call(judge, runtime, case_call(cases, name, "fixed.py"), "sanitize")
        if result.verdict != "correct":
            refused[name] = (result.verdict, result.summary)
    assert refused == {}
