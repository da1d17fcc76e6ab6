"""Makes a toolchain: an environment of its own, what the worker needs beside jax, a look at it, one kernel compiled."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from maxkernel_lab.runtimes.environment import Toolchain, command, environment, require
from maxkernel_lab.runtimes.local import LocalRuntime
from maxkernel_lab.supervision.processes import Supervised
from maxkernel_lab.toolchains.stored import (
    Stored,
    check_name,
    discard,
    keep_toolchain,
    load_toolchain,
    toolchains_folder,
)
from maxkernel_tools.context import Progress
from maxkernel_tools.errors import DeadlineError, MachineryError, MisuseError
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import CompileRequest, TraceRequest

_INSTALL_S: Final = 1800.0
_PROBE_S: Final = 120.0
# Import name and distribution. Some lines of jax import absl without asking for it.
_WORKER_NEEDS: Final = {"pydantic": "pydantic", "flatbuffers": "flatbuffers", "absl": "absl-py"}
_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?P<extra>\[[a-z0-9,_-]+\])?(?P<version>([=<>!~]=?[A-Za-z0-9.*+!_-]+,?)*)"
)
# A pip that outlives the lab would go on writing: it asks to die with its parent before it starts.
_DYING: Final = (
    "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(1, 9); del sys.argv[0]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
_MISSING: Final = (
    "import importlib.util, json, sys; "
    "json.dump([n for n in sys.argv[2:] if importlib.util.find_spec(n) is None], open(sys.argv[1], 'w'))"
)
_KERNEL: Final = """
import jax
from jax.experimental import pallas as pl


def _double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    return pl.pallas_call(_double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="double")(x)
"""


async def add_toolchain(home: Path, specs: Sequence[str], progress: Progress, name: str = "") -> Stored:
    """Make a toolchain and record it; nothing stays of one that does not work.

    Args:
        home: the lab's home.
        specs: requirements (``jax==0.6.2``, ``libtpu==0.0.17``), or one path of an environment or interpreter.
        progress: told what is being done.
        name: by default ``jax-`` and its version.

    Raises:
        MisuseError: the specs are none, or the name is taken.
        MachineryError: it cannot be installed, or does not compile.
    """
    existing = _existing(specs)
    requirements = () if existing else _requirements(specs)
    chosen = check_name(name or ("" if existing else _name_of(requirements)) or await _name_in(home, existing))
    root = toolchains_folder(home)
    await anyio.to_thread.run_sync(lambda: root.mkdir(parents=True, exist_ok=True, mode=0o700))
    with _alone(root):
        if load_toolchain(home, chosen) is not None:
            raise MisuseError(
                f"There is a toolchain called {chosen!r} already.",
                allowed="a name that is not taken.",
                action=f"Give another with --name, or `maxkernel toolchain remove {chosen}` first.",
            )
        folder = root / chosen
        await anyio.to_thread.run_sync(discard, folder)  # what an interrupted attempt left
        folder.mkdir(mode=0o700)
        try:
            made = await _make(folder, existing, requirements, progress)
            await progress(3, 4, "compiling a kernel with it")
            await _try(home, made)
            found = Stored(
                name=chosen,
                specs=tuple(specs) if existing is None else (str(existing),),
                python=str(made.python),
                packages=str(made.packages or ""),
                versions=made.versions,
                lacks=made.lacks,
            )
            await anyio.to_thread.run_sync(keep_toolchain, folder, found)
        except BaseException:
            discard(folder)
            raise
    return found


async def _make(folder: Path, existing: Path | None, requirements: Sequence[str], progress: Progress) -> Toolchain:
    packages: Path | None = None
    if existing is None:
        python = folder / "env" / "bin" / "python"
        await progress(0, 4, "making an environment")
        await _run([sys.executable, "-I", "-c", _DYING, "venv", str(folder / "env")], folder, "making the environment")
        await progress(1, 4, f"installing {' '.join(requirements)}")
        await _pip(python, folder, [*requirements, *_helpers(tuple(_WORKER_NEEDS))])
    else:
        python = existing
        missing = await _missing(python, folder)
        if missing:
            packages = folder / "packages"
            await progress(1, 4, f"installing {' '.join(missing)} beside it")
            await _pip(python, folder, ["--target", str(packages), *_helpers(missing)])
    await progress(2, 4, "looking what it can do")
    toolchain = await _probed(Toolchain(name=folder.name, python=python, packages=packages), folder)
    require(toolchain)
    return toolchain


def _existing(specs: Sequence[str]) -> Path | None:
    """The interpreter a single path names; None where requirements were given."""
    if len(specs) != 1 or not (os.sep in specs[0] or specs[0].startswith((".", "~"))):
        return None
    given = Path(specs[0]).expanduser().absolute()
    python = given / "bin" / "python" if given.is_dir() else given
    if not os.access(python, os.X_OK) or not python.is_file():
        raise MisuseError(
            f"{specs[0]!r:.200} holds no Python interpreter.",
            allowed="the folder of an environment (with bin/python), or the interpreter itself.",
            action="Correct the path, or give requirements like jax==0.6.2.",
        )
    return python  # not resolved: the link's place is what makes it that environment's interpreter


def _requirements(specs: Sequence[str]) -> tuple[str, ...]:
    parsed = [_REQUIREMENT.fullmatch(spec.strip()) for spec in specs]
    bad = [spec for spec, match in zip(specs, parsed, strict=True) if match is None]
    names = {match["name"].lower() for match in parsed if match is not None}
    if bad or "jax" not in names:
        raise MisuseError(
            f"{bad[0]!r:.100} is no requirement." if bad else "No jax among the requirements.",
            allowed="names with versions, jax among them, or one path of an existing environment.",
            action="Write it like `maxkernel toolchain add jax==0.6.2 libtpu==0.0.17`.",
        )
    # jax's extra names the libtpu it was released with; it stands aside where another is asked for.
    extra = "" if "libtpu" in names else "[tpu]"
    return tuple(
        f"jax{match['extra'] or extra}{match['version']}" if match["name"].lower() == "jax" else match.group()
        for match in parsed
        if match is not None
    )


def _name_of(requirements: Sequence[str]) -> str:
    """``jax-0.6.2`` for ``jax==0.6.2``; with the libtpu where one was asked for; empty without a version."""
    parts: list[str] = []
    for requirement in requirements:
        name, sign, version = requirement.partition("==")
        if sign and name.partition("[")[0] in ("jax", "libtpu"):
            parts.append(f"{name.partition('[')[0]}-{version}".lower())
    return "-".join(sorted(parts)) if any(part.startswith("jax-") for part in parts) else "jax-latest"


async def _name_in(home: Path, python: Path | None) -> str:
    if python is None:
        return ""
    look = "import importlib.metadata as m, sys; open(sys.argv[1], 'w').write(m.version('jax'))"
    root = toolchains_folder(home)
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    answer = root / f".version-{os.getpid()}"
    try:
        await _run([str(python), "-I", "-c", look, str(answer)], root, "looking for jax", _PROBE_S)
        return f"jax-{answer.read_text()}"
    finally:
        answer.unlink(missing_ok=True)


def _helpers(names: Sequence[str]) -> list[str]:
    """Requirements for import ``names``, at the lab's own versions: both ends of the wire must agree."""
    found: list[str] = []
    for name in names:
        distribution = _WORKER_NEEDS[name]
        try:
            found.append(f"{distribution}=={importlib.metadata.version(distribution)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(distribution)
    return found


async def _missing(python: Path, folder: Path) -> list[str]:
    answer = folder / "missing.json"
    await _run([str(python), "-I", "-c", _MISSING, str(answer), *_WORKER_NEEDS], folder, "starting it", _PROBE_S)
    return json.loads(answer.read_text())


async def _pip(python: Path, folder: Path, arguments: Sequence[str]) -> None:
    """Install wheels only: nothing of a package's runs before a kernel asks for it."""
    options = ["install", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    line = [str(python), "-I", "-c", _DYING, "pip", *options, *arguments]
    await _run(line, folder, f"installing {' '.join(arguments)}")


async def _probed(toolchain: Toolchain, folder: Path) -> Toolchain:
    answer = folder / "probe.json"
    line = command(toolchain, "probing", str(answer))
    await _run(line, folder, "importing its jax", _PROBE_S, environment(folder))
    facts = json.loads(answer.read_text())
    return Toolchain(
        name=toolchain.name,
        python=toolchain.python,
        packages=toolchain.packages,
        versions=facts["versions"],
        lacks=tuple(facts["lacks"]),
    )


async def _try(home: Path, toolchain: Toolchain) -> None:
    """Compile a small kernel, so that what is recorded works.

    Raises:
        MachineryError: it does not.
    """
    async with LocalRuntime(home, toolchains={toolchain.name: toolchain}) as runtime:
        traced = await runtime.trace(
            TraceRequest(
                kernel=KernelSource(text=_KERNEL),
                inputs=(ArraySpec.parse("f32[8,128]"),),
                targets=(Target.V6E,),
                toolchain=toolchain.name,
            )
        )
        exported = traced.exported.get(Target.V6E)
        if exported is None:
            words = [error.message for error in traced.errors.values()] or [traced.child.stderr_tail[-500:]]
            raise MachineryError(f"This toolchain does not trace a small kernel: {words[0][:500]}")
        compiled = await runtime.compile(
            CompileRequest(exported=exported, target=Target.V6E, dumps=False, toolchain=toolchain.name)
        )
    if not compiled.ok:
        words = compiled.error.message if compiled.error else compiled.crash_log[-500:]
        raise MachineryError(f"This toolchain does not compile a small kernel: {words[:500]}")


async def _run(
    line: Sequence[str],
    folder: Path,
    what: str,
    deadline_s: float = _INSTALL_S,
    variables: dict[str, str] | None = None,
) -> None:
    """Run one command to its end.

    Raises:
        DeadlineError: it takes longer than ``deadline_s``.
        MachineryError: it fails; with its last words.
    """
    process = await Supervised.start(line, dict(os.environ) if variables is None else variables, [], folder)
    code: int | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.drain)
        try:
            with anyio.move_on_after(deadline_s):
                code = await process.wait()
        finally:
            process.kill()
    doing = f"{what[0].upper()}{what[1:]}"
    if code is None:
        raise DeadlineError(f"{doing} did not end within {deadline_s:.0f} s.")
    if code != 0:
        raise MachineryError(f"{doing} failed: {process.stderr_since()[-1500:].strip()}")


@contextlib.contextmanager
def _alone(root: Path) -> Generator[None]:
    """Hold the folder against another ``add``.

    Raises:
        MisuseError: another is at work.
    """
    with (root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MisuseError(
                "Another toolchain is being added to this home.",
                allowed="one at a time.",
                action="Wait for it to end.",
            ) from None
        yield
