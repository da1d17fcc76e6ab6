"""Finds the user's source line an exception is about, where the traceback alone does not say.

Lowering rules run long after the user's code has returned, so their tracebacks end in the library. But the frames still
hold the equation being lowered, and equations know where they were written.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from jax._src import core

from maxkernel_tools.records.kernels import CANDIDATE_FILE_NAME
from maxkernel_tools.runtime import Frame
from maxkernel_tools.worker.inspecting.lines import Place, is_users_function, place_of
from maxkernel_tools.worker.inspecting.walking import INLINED, is_jaxpr, open_jaxpr, sub_jaxprs

_ARRAY_CONSTANT = "captures constants"


def locate_failure(
    _traced: object, exception: BaseException, kernel_file: str = CANDIDATE_FILE_NAME
) -> tuple[Frame, ...]:
    """Return the user's places of the failing equation, outermost first; empty where none was found.

    Args:
        _traced: what was being lowered, where tracing got that far. The traceback says enough so far.
        exception: as raised, its traceback intact.
        kernel_file: the name the kernel was loaded under.
    """
    frames = list(_frames(exception))
    if _ARRAY_CONSTANT in str(exception):
        place = _captured(frames, kernel_file)
        if place is not None:
            return (place.as_frame(),)
    places: list[Place] = []
    for eqn in _equations(frames):
        place = place_of(eqn, kernel_file)
        if place is not None:
            places.append(place)
        if eqn.primitive.name in INLINED and not any(is_users_function(sub, kernel_file) for sub in sub_jaxprs(eqn)):
            # What a library function does inside is at the line that calls it.
            break
    return tuple(place.as_frame() for place in places)


def _frames(exception: BaseException) -> Iterator[FrameType]:
    traceback = exception.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _equations(frames: list[FrameType]) -> Iterator[Any]:
    seen: set[int] = set()
    for frame in frames:
        eqn = frame.f_locals.get("eqn")
        if isinstance(eqn, core.JaxprEqn) and id(eqn) not in seen:
            seen.add(id(eqn))
            yield eqn


def _captured(frames: list[FrameType], kernel_file: str) -> Place | None:
    """The first use of a captured array in a kernel that was refused for it."""
    for frame in reversed(frames):
        jaxpr = frame.f_locals.get("jaxpr")
        if not is_jaxpr(jaxpr):
            continue
        body = open_jaxpr(jaxpr)
        held = {v for v in (*body.constvars, *body.invars) if getattr(v.aval, "shape", ()) != () and not _is_ref(v)}
        place = _first_use(body, held, kernel_file)
        if place is not None:
            return place
    return None


def _is_ref(variable: Any) -> bool:
    return "Ref" in type(variable.aval).__name__


def _first_use(jaxpr: Any, held: set[Any], kernel_file: str) -> Place | None:
    for eqn in jaxpr.eqns:
        used = [index for index, atom in enumerate(eqn.invars) if not isinstance(atom, core.Literal) and atom in held]
        if used:
            return place_of(eqn, kernel_file)
    return None
