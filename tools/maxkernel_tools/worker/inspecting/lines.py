"""Finds the user's source line of an equation.

Owns the reading of jax's source info. Names a file and a line; whether that is the line to edit is judged elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from jax._src import source_info_util

from maxkernel_tools.runtime import Frame

_FUNCTION_SOURCE = re.compile(r"^(?P<name>.*) at (?P<file>.+):(?P<line>\d+)$")
_LIBRARY_PARTS = ("site-packages", "dist-packages", "maxkernel_tools", "maxkernel_lab", "lib/python")


@dataclass(frozen=True)
class Place:
    """A place in the user's source: file, first line, and the function it is in."""

    file: str
    line: int
    function: str = ""

    def as_frame(self) -> Frame:
        """Return the place as a frame."""
        return Frame(file=self.file, line=self.line, function=self.function)


@lru_cache(maxsize=4096)
def is_users(file: str, kernel_file: str) -> bool:
    """Whether ``file`` is the kernel, or a module of the user's project it imports."""
    if file == kernel_file:
        return True
    return not file.startswith("<") and not any(part in file for part in _LIBRARY_PARTS)


def frames_of(eqn: Any, kernel_file: str) -> tuple[Frame, ...]:
    """Return the user's frames at ``eqn``, innermost last."""
    traceback = getattr(eqn.source_info, "traceback", None)
    if traceback is None:
        return ()
    codes, positions = traceback.raw_frames()
    found = [
        _frame(code, position)
        for code, position in zip(codes, positions, strict=True)
        if is_users(code.co_filename, kernel_file)
    ]
    found.reverse()
    return _from_kernel_on(found, kernel_file)


@lru_cache(maxsize=8192)
def _frame(code: CodeType, position: int) -> Frame:
    frame = source_info_util.raw_frame_to_frame(code, position)
    return Frame(file=str(frame.file_name), line=int(frame.start_line), function=str(frame.function_name))


def place_of(eqn: Any, kernel_file: str, inherited: Place | None = None) -> Place | None:
    """Return the innermost user place of ``eqn``, the kernel file before modules it imports, else ``inherited``."""
    frames = frames_of(eqn, kernel_file)
    in_kernel = [frame for frame in frames if frame.file == kernel_file]
    chosen = (in_kernel or list(frames))[-1:]
    return Place(chosen[0].file, chosen[0].line, chosen[0].function) if chosen else inherited


def function_place(debug_info: Any, kernel_file: str) -> Place | None:
    """Return where a traced function is defined, if it is the user's (``debug_info`` of a jaxpr)."""
    match = _FUNCTION_SOURCE.match(str(getattr(debug_info, "func_src_info", "") or ""))
    if match is None or not is_users(match.group("file"), kernel_file):
        return None
    return Place(match.group("file"), int(match.group("line")), match.group("name"))


def is_users_function(jaxpr: Any, kernel_file: str) -> bool:
    """Whether a sub-jaxpr comes from a function of the user's.

    jax caches the jaxprs of its own jitted functions (``jnp.cumsum``), so that their equations may carry the source of
    another call.
    """
    return function_place(getattr(jaxpr, "debug_info", None), kernel_file) is not None


def _from_kernel_on(frames: list[Frame], kernel_file: str) -> tuple[Frame, ...]:
    # Frames outside the kernel file that come before it belong to whoever called it.
    for index, frame in enumerate(frames):
        if frame.file == kernel_file:
            return tuple(frames[index:])
    return tuple(frame for frame in frames if Path(frame.file).suffix == ".py")
