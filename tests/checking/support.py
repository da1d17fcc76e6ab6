"""What the tests of the grader share: calls on handed cases and on small texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maxkernel_tools.checking import test_kernel as grade
from maxkernel_tools.context import CallContext, KernelCall, Workload
from maxkernel_tools.records import ArraySpec, KernelSource
from maxkernel_tools.records.verdicts import TestLevel, TestResult
from tests.adversarial.corpus import Sink


def truth(root: Path) -> dict[str, Any]:
    return json.loads((root / "truth.json").read_text())


def text_call(kernel: str, reference: str, inputs: list[str]) -> KernelCall:
    specs = tuple(ArraySpec.parse(text) for text in inputs)
    return KernelCall(KernelSource(text=kernel), Workload(specs, " ".join(inputs), None, KernelSource(text=reference)))


def case_call(root: Path, name: str, file: str) -> KernelCall:
    folder = root / name
    return text_call((folder / file).read_text(), (folder / "reference.py").read_text(), truth(root)[name]["inputs"])


async def judge(runtime: Any, call: KernelCall, level: TestLevel = "quick") -> TestResult:
    async def ignore(*_: Any) -> None:
        return None

    return await grade(call, level, CallContext(runtime, Sink(), ignore, "r-test"))
