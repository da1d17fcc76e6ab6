"""Our own kernels, many per class family: the code, the line, and silence on valid look-alikes."""

from __future__ import annotations

import pytest

from maxkernel_tools.records.targets import Target
from tests.diagnosing.kernel_files import FAMILIES, KernelFile, compiled, everything, kernel_files, serious

FILES = kernel_files()


def check(report, file: KernelFile) -> None:
    if not file.expected:
        assert serious(report) == set(), [f.message for f in report.findings]
        assert report.ok
        return
    assert file.expected <= everything(report), [(f.code.value, f.line, f.message) for f in report.findings]
    assert serious(report) <= file.expected
    for finding in report.findings:
        assert finding.hint
        if (finding.code.value, finding.line) in file.expected:
            assert finding.source_line == file.text.splitlines()[finding.line - 1].strip()


@pytest.mark.toolchain
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_on_v6e(file, portal, runtime):
    result = compiled(portal, runtime, file.text, file.inputs, (Target.V6E,))
    check(result.targets[0], file)
    assert result.ok == result.targets[0].ok


@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_on_v5e_too(file, portal, runtime):
    report = compiled(portal, runtime, file.text, file.inputs, (Target.V5E,)).targets[0]
    check(report, file)


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_has_ten_kernels_and_two_look_alikes(family):
    mine = [file for file in FILES if file.name.startswith(f"{family}/")]
    assert len(mine) >= 10
    assert sum(1 for file in mine if not file.expected) >= 2
