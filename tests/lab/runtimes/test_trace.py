"""Tracing and exporting through real children: what comes back, and how every bad file ends."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import TraceReply, TraceRequest
from tests.lab.runtimes.kernels import GEMM, PLAIN, plain_with

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime

pytestmark = pytest.mark.toolchain

SQUARE = (ArraySpec.parse("bf16[256,256]"),) * 2
ONE = (ArraySpec.parse("f32[128,128]"),)


@pytest.fixture
def trace(portal: BlockingPortal, runtime: LocalRuntime):
    def call(text: str, inputs: tuple[ArraySpec, ...] = ONE, **options: object) -> TraceReply:
        source = KernelSource(text=text, import_roots=options.pop("import_roots", ()))
        request = TraceRequest(kernel=source, inputs=inputs, **{"targets": (Target.V6E,), "timeout_s": 30.0, **options})
        return portal.call(runtime.trace, request)

    return call


def test_a_kernel_is_exported_for_every_target(trace) -> None:
    reply = trace(GEMM, SQUARE, targets=tuple(Target))
    assert reply.child.ending == "completed"
    assert not reply.errors
    assert set(reply.exported) == set(Target)
    assert reply.outputs == (ArraySpec.parse("bf16[256,256]"),)
    assert reply.declared_params == {"block": 128}
    assert reply.declared_space == {"block": [128, 256]}
    assert reply.facts["pallas_calls"][0]["grid"] == [2, 2, 2]


def test_params_override_the_files_own(trace) -> None:
    assert trace(GEMM, SQUARE, params={"block": 256}).facts["pallas_calls"][0]["grid"] == [1, 1, 1]


def test_the_same_source_gives_the_same_bytes_from_child_to_child(trace) -> None:
    first, other, again = (trace(text, SQUARE) for text in (GEMM, PLAIN.replace("(x)", "(x, y)", 1), GEMM))
    assert first.exported == again.exported
    assert b"maxkernel_tools" not in first.exported[Target.V6E], "the installation would be part of the cache key"
    assert first.exported != other.exported


def test_every_wall_is_reported(trace) -> None:
    report = trace(PLAIN).child.sandbox
    assert report is not None
    assert report.landlock
    assert report.rlimits
    assert report.memory_watchdog
    assert report.no_network


def test_no_targets_means_trace_only(trace) -> None:
    reply = trace(PLAIN, targets=())
    assert not reply.exported
    assert not reply.errors
    assert reply.outputs == ONE


@pytest.mark.parametrize(
    ("text", "type_name", "phase", "line"),
    [
        ("def workload(x:\n    return x", "SyntaxError", "load", 1),
        ("def helper(x):\n    return x", "MissingEntry", "load", None),
        ("import no_such_module", "ModuleNotFoundError", "load", 1),
        ("x = 1\nraise SystemExit(0)", "SystemExit", "load", 2),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "load", 1),
        ("PARAMS = 3\ndef workload(x): return x", "InvalidDeclaration", "load", None),
        ("class E(Exception):\n  def __str__(self): raise ValueError\nraise E", "E", "load", 3),
        ("def workload(x):\n    return x + undefined", "NameError", "trace", 2),
        ("def workload(x, y):\n    return x", "TypeError", "trace", None),
        ("def workload(x):\n    return object()", "TypeError", "trace", None),
    ],
)
def test_bad_files_are_raw_errors(trace, text: str, type_name: str, phase: str, line: int | None) -> None:
    reply = trace(text)
    (error,) = reply.errors.values()
    assert (error.type_name, error.phase) == (type_name, phase)
    if line is not None:
        assert [frame.line for frame in error.frames if frame.file == "kernel.py"][-1] == line


def test_unknown_params_are_named(trace) -> None:
    (error,) = trace(GEMM, SQUARE, params={"blok": 1}).errors.values()
    assert error.type_name == "UnknownParameter"
    assert "blok" in error.message
    assert "block" in error.message


def test_lowering_errors_name_their_target(trace) -> None:
    text = GEMM.replace(
        "pl.BlockSpec((block, block), lambda i, j, k: (i, k))", "pl.BlockSpec((3, 7), lambda i, j, k: (i, k))"
    )
    reply = trace(text, SQUARE, targets=(Target.V5E, Target.V6E))
    assert set(reply.errors) == {Target.V5E, Target.V6E}
    assert not reply.exported


def test_prints_are_kept_apart_from_the_reply(trace) -> None:
    reply = trace(plain_with("import sys\nprint('to one')\nprint('to two', file=sys.stderr)"))
    assert reply.exported
    assert "to one" in reply.child.stdout_tail
    assert "to two" in reply.child.stderr_tail


def test_modules_of_the_project_are_read_and_hashed(trace, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    helper = tmp_path / "pkg" / "helper.py"
    helper.write_text("def double(x):\n    return x * 2\n")
    text = "from pkg.helper import double\ndef workload(x):\n    return double(x)\n"
    reply = trace(text, import_roots=(str(tmp_path),))
    assert reply.exported
    assert reply.imported_files["pkg/helper.py"] == hashlib.sha256(helper.read_bytes()).hexdigest()
    assert not trace(text).exported


def test_what_is_hidden_in_the_project_stays_hidden(trace, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=secret")
    (tmp_path / "data.json").write_text("{}")
    text = f"open({str(tmp_path / 'data.json')!r}).read()\nopen({str(tmp_path / '.env')!r}).read()"
    (error,) = trace(text, import_roots=(str(tmp_path),)).errors.values()
    assert error.type_name == "PermissionError"
    assert ".env" in error.message


def test_exports_do_not_depend_on_the_projects_folder(trace, tmp_path: Path) -> None:
    exported = []
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helper.py").write_text("def double(x):\n    return x * 2\n")
        reply = trace(
            "import helper\ndef workload(x):\n    return helper.double(x)\n", import_roots=(str(tmp_path / name),)
        )
        exported.append(reply.exported[Target.V6E])
    assert exported[0] == exported[1]
