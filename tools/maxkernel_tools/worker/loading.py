"""Executes a kernel's text as a module and hands out its entry function and declarations.

The file name is fixed: exported bytes embed it, so that the same kernel from two folders shares one cache entry.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from maxkernel_tools.records.kernels import CANDIDATE_FILE_NAME, ENTRY_NAMES, KernelSource, ParamValue
from maxkernel_tools.runtime import Frame, RawError
from maxkernel_tools.worker.failures import WorkFailure, phase

MISSING_ENTRY = "MissingEntry"
"""``RawError.type_name`` where the file defines none of ``ENTRY_NAMES``."""


@dataclass(frozen=True)
class Loaded:
    """A kernel file after execution.

    Attributes:
        entry: ``workload`` or ``computation`` as the file defines it, without parameters bound.
        params: the file's ``PARAMS``.
        space: the file's ``SPACE``.
        module: the module itself, for readers that look for more names (``create_inputs``).
    """

    entry: Callable[..., Any]
    params: Mapping[str, ParamValue]
    space: Mapping[str, Sequence[ParamValue]]
    module: types.ModuleType


def load_module(source: KernelSource, file_name: str = CANDIDATE_FILE_NAME) -> types.ModuleType:
    """Execute ``source`` under ``file_name`` and return the module.

    Raises:
        WorkFailure: the text does not compile or its execution raised; phase ``load``.
    """
    linecache.cache[file_name] = (len(source.text), None, source.text.splitlines(keepends=True), file_name)
    for root in reversed(source.import_roots):
        if root not in sys.path:
            sys.path.insert(0, root)
    module = types.ModuleType(Path(file_name).stem)
    module.__file__ = file_name
    with phase("load"):
        code = compile(source.text, file_name, "exec", dont_inherit=True)
        sys.modules[module.__name__] = module
        exec(code, module.__dict__)  # noqa: S102 - loading the candidate is what this process is for
    return module


def load_kernel(source: KernelSource) -> Loaded:
    """Load a kernel file and find its entry.

    Raises:
        WorkFailure: phase ``load``; ``MissingEntry`` where no entry is defined, ``InvalidDeclaration`` for a ``PARAMS``
            or ``SPACE`` of another form, else whatever the text raised.
    """
    module = load_module(source)
    for name in ENTRY_NAMES:
        entry = module.__dict__.get(name)
        if callable(entry):
            params, space = _declarations(module)
            return Loaded(entry=entry, params=params, space=space, module=module)
    defined = [name for name, value in module.__dict__.items() if inspect.isfunction(value)]
    raise WorkFailure(
        RawError(
            type_name=MISSING_ENTRY,
            message=f"The file defines none of {', '.join(ENTRY_NAMES)}; it defines "
            f"{', '.join(defined) or 'no function'}.",
            phase="load",
        )
    )


def bind(loaded: Loaded, params: Mapping[str, ParamValue]) -> Callable[..., Any]:
    """Return the entry with ``PARAMS`` and ``params`` bound, under the entry's own name.

    The name goes into the exported module (``jit_workload``), so it must not depend on who calls.

    Raises:
        WorkFailure: ``params`` names something the entry does not take; phase ``load``.
    """
    entry = loaded.entry
    merged = {**loaded.params, **params}
    accepted = _keyword_names(entry)
    if accepted is not None:
        # PARAMS may also document constants of the file; only a caller's own mistake is worth an error.
        unknown = sorted(set(params) - accepted)
        if unknown:
            raise WorkFailure(
                RawError(
                    type_name="UnknownParameter",
                    message=f"{entry.__name__} takes no parameter {', '.join(unknown)}; it takes "
                    f"{', '.join(sorted(accepted)) or 'none'}.",
                    phase="load",
                    frames=(Frame(CANDIDATE_FILE_NAME, _line_of(entry), entry.__name__),),
                )
            )
        merged = {name: value for name, value in merged.items() if name in accepted}
    if not merged:
        return entry

    def bound(*inputs: Any) -> Any:
        return entry(*inputs, **merged)

    bound.__name__ = bound.__qualname__ = getattr(entry, "__name__", ENTRY_NAMES[0])
    return bound


def imported_files(source: KernelSource) -> dict[str, str]:
    """Return path -> sha256 of every module of ``source.import_roots`` loaded so far, paths relative to their root."""
    found: dict[str, str] = {}
    roots = tuple(root.rstrip("/") + "/" for root in source.import_roots)
    for module in list(sys.modules.values()) if roots else ():
        name = getattr(module, "__file__", None)
        if isinstance(name, str) and name.startswith(roots):
            root = next(root for root in roots if name.startswith(root))
            found[name.removeprefix(root)] = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    return dict(sorted(found.items()))


def _keyword_names(entry: Callable[..., Any]) -> set[str] | None:
    """Names ``entry`` takes by keyword, or None where it takes any."""
    try:
        parameters = inspect.signature(entry).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {parameter.name for parameter in parameters if parameter.kind in by_name}


def _line_of(entry: Callable[..., Any]) -> int:
    code = getattr(entry, "__code__", None)
    return code.co_firstlineno if isinstance(code, types.CodeType) else 1


def _declarations(module: types.ModuleType) -> tuple[dict[str, ParamValue], dict[str, Sequence[ParamValue]]]:
    params = module.__dict__.get("PARAMS", {})
    space = module.__dict__.get("SPACE", {})
    if not isinstance(params, Mapping) or not all(
        isinstance(k, str) and isinstance(v, bool | int | float | str) for k, v in params.items()
    ):
        raise _invalid("PARAMS", "a dict of names to bool, int, float or str")
    if not isinstance(space, Mapping) or not all(
        isinstance(k, str) and isinstance(v, list | tuple) and all(isinstance(x, bool | int | float | str) for x in v)
        for k, v in space.items()
    ):
        raise _invalid("SPACE", "a dict of names to lists of bool, int, float or str")
    return (
        dict(cast("Mapping[str, ParamValue]", params)),
        {name: tuple(values) for name, values in cast("Mapping[str, Sequence[ParamValue]]", space).items()},
    )


def _invalid(name: str, allowed: str) -> WorkFailure:
    return WorkFailure(RawError(type_name="InvalidDeclaration", message=f"{name} must be {allowed}.", phase="load"))
