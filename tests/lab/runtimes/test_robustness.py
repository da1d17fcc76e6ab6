"""What the machine does to the compiler: a full disk, a damaged cache, services that grow old or large."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_lab.runtimes.cache import CompileCache
from maxkernel_lab.runtimes.compiler import ServiceLimits
from maxkernel_lab.runtimes.local import LocalLimits, LocalRuntime
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import CompileRequest, TraceRequest
from tests.lab.runtimes.kernels import GEMM
from tests.lab.runtimes.processes import alive, eventually

pytestmark = pytest.mark.toolchain


def traced(portal: BlockingPortal, runtime: LocalRuntime, name: str, root: Path | None = None) -> bytes:
    text = GEMM.replace('name="gemm"', f'name="{name}"')
    roots = ()
    if root is not None:
        text, roots = text.replace("import jax,", "import helper\nimport jax,", 1), (str(root),)
        text = text.replace("acc[...].astype(out.dtype)", "helper.narrow(acc[...], out.dtype)")
    kernel = KernelSource(text=text, file=str((root or Path()) / "k.py"), import_roots=roots)
    request = TraceRequest(kernel=kernel, inputs=(ArraySpec.parse("bf16[256,256]"),) * 2, targets=(Target.V6E,))
    reply = portal.call(runtime.trace, request)
    assert reply.exported, reply.errors
    return reply.exported[Target.V6E]


def entry_files(home: Path) -> list[Path]:
    return sorted((home / "cache" / "compile" / "entries").rglob("optimized-hlo.txt.gz"))


def test_a_full_disk_costs_the_cache_but_not_the_answer(
    portal: BlockingPortal, runtime: LocalRuntime, lab_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = traced(portal, runtime, "full_disk")
    plain, dumped = CompileRequest(data, Target.V6E, dumps=False), CompileRequest(data, Target.V6E)
    before = entry_files(lab_home)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(CompileCache, "_publish", full)
        assert portal.call(runtime.compile, plain).ok
        with pytest.raises(MachineryError, match="No space left"):
            portal.call(runtime.compile, dumped)  # the schedule has nowhere to lie
    assert entry_files(lab_home) == before
    assert not list((lab_home / "cache" / "compile" / "staging").iterdir())
    assert not list((lab_home / "work").rglob("dumps-*"))
    for request in (plain, dumped):
        reply = portal.call(runtime.compile, request)
        assert reply.ok
        assert not reply.cached


def test_a_damaged_entry_is_compiled_anew(portal: BlockingPortal, runtime: LocalRuntime, lab_home: Path) -> None:
    request = CompileRequest(traced(portal, runtime, "damaged_entry"), Target.V6E, dumps=False)
    before = set(entry_files(lab_home))
    first = portal.call(runtime.compile, request)
    (entry,) = set(entry_files(lab_home)) - before
    entry.write_bytes(entry.read_bytes()[:-7])
    again = portal.call(runtime.compile, request)
    assert (again.ok, again.cached, again.hlo_text) == (True, False, first.hlo_text)
    assert portal.call(runtime.compile, request).cached


def test_the_same_kernel_from_another_folder_is_a_cache_hit(
    portal: BlockingPortal, runtime: LocalRuntime, tmp_path: Path
) -> None:
    replies = []
    for name in ("here", "elsewhere"):
        root = tmp_path / name
        root.mkdir()
        (root / "helper.py").write_text("def narrow(x, dtype):\n    return x.astype(dtype)\n")
        request = CompileRequest(traced(portal, runtime, "moved", root), Target.V6E, dumps=False)
        replies.append(portal.call(runtime.compile, request))
        shutil.rmtree(root)
    assert [reply.cached for reply in replies] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("limits", [ServiceLimits(recycle_s=0.0), ServiceLimits(recycle_bytes=1)], ids=["old", "large"])
def test_a_service_at_rest_is_replaced(portal: BlockingPortal, tmp_path: Path, limits: ServiceLimits) -> None:
    with portal.wrap_async_context_manager(LocalRuntime(tmp_path, limits=LocalLimits(services=limits))) as runtime:
        seen: list[int] = []
        for number in range(2):
            portal.call(lambda: runtime.warm(dumps=False))
            seen.append(runtime.processes()["compiler default"])
            request = CompileRequest(traced(portal, runtime, f"recycled_{number}"), Target.V6E, dumps=False)
            assert portal.call(runtime.compile, request).ok
            eventually(lambda: not alive(seen[-1]), "the service that is due goes on")
        assert len(set(seen)) == 2
