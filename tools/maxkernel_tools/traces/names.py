"""Names in captures: HLO instruction names, module names, shapes. Pure text functions."""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBER = re.compile(r"(?:\.(?:\d+|remat\d*|clone|in_megacore_fusion))+$")
_MODULE = re.compile(r"^(.*)\((\d+)\)$", re.DOTALL)
_PARAM = re.compile(r"([a-z][a-z0-9]*\[[\d,]*\])(?:\{[^{}]*\})? %(param[\w.]*)")
_TYPE = re.compile(r"\b([a-z][a-z0-9]*\[[\d,<=]*\])(?:\{([^{}]*)\})?")
_SPACE = re.compile(r"S\((\d+)\)")
_PALLAS_TARGETS = ('custom_call_target="tpu_custom_call"', 'custom_call_target="Mosaic')


@lru_cache(maxsize=65536)
def base_name(name: str) -> str:
    """Strip instruction numbers and the compiler's own suffixes: ``%copy-done.4`` is ``copy-done``."""
    name = name.removeprefix("%")
    return _NUMBER.sub("", name) or name


def split_module(name: str) -> tuple[str, str]:
    """Return a module's name and its fingerprint, empty where it has none: ``jit_f(12)`` is ``jit_f``, ``12``."""
    match = _MODULE.match(name)
    return (match.group(1), match.group(2)) if match else (name, "")


def parameters(hlo: str) -> dict[str, str]:
    """Return the shapes of program parameters an instruction's text names as operands."""
    return {name: shape for shape, name in _PARAM.findall(hlo)}


def is_pallas(category: str, scope: str, hlo: str) -> bool:
    """Whether an op is a Pallas kernel: a Mosaic custom call."""
    if any(target in hlo for target in _PALLAS_TARGETS):
        return True
    return category == "custom-call" and not hlo.count("custom_call_target=") and scope.endswith("pallas_call")


@lru_cache(maxsize=16384)
def typed(hlo: str, shape: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return dims, layouts and memory spaces of an instruction's result and operands, in order.

    Memory space ``0`` is HBM; ``1`` is VMEM on TPU.
    """
    text = hlo.split("), ", 1)[0] if hlo else shape
    found = _TYPE.findall(text)
    spaces = [_SPACE.search(layout) for _, layout in found]
    return (
        tuple(dims for dims, _ in found),
        tuple(_SPACE.sub("", layout) for _, layout in found),
        tuple(match.group(1) if match else "0" for match in spaces),
    )
