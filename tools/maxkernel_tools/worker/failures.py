"""Turns whatever candidate code raised into a :class:`RawError`, unjudged.

Owns the reading of tracebacks. Does not know what an error means; ``maxkernel_tools.diagnosing`` does.
"""

from __future__ import annotations

import traceback
from collections.abc import Generator
from contextlib import contextmanager

from maxkernel_tools.runtime import Frame, RawError

_MAX_FRAMES = 120
_MAX_MESSAGE = 400_000


class WorkFailure(Exception):  # noqa: N818 - it reports the candidate's failure, it is not an error of this program
    """Candidate code failed in a known phase; carries the error to send back, and the exception where there was one."""

    def __init__(self, error: RawError, exception: BaseException | None = None) -> None:
        super().__init__(f"{error.phase}: {error.type_name}")
        self.error = error
        self.exception = exception


def raw_error(exception: BaseException, phase: str, source_frames: tuple[Frame, ...] = ()) -> RawError:
    """Describe ``exception``, raised during ``phase``."""
    return RawError(
        type_name=type(exception).__name__,
        message=_message(exception),
        phase=phase,
        frames=_frames(exception),
        source_frames=source_frames,
    )


@contextmanager
def phase(name: str) -> Generator[None]:
    """Raise :class:`WorkFailure` for anything the body raises, ``SystemExit`` and ``KeyboardInterrupt`` included."""
    try:
        yield
    except WorkFailure:
        raise
    except BaseException as exception:  # noqa: BLE001 - the worker's outermost boundary: candidate code runs in the body
        raise WorkFailure(raw_error(exception, name), exception) from None


def _message(exception: BaseException) -> str:
    try:
        parts = [str(exception), *getattr(exception, "__notes__", ())]
        cause = exception.__cause__
        if cause is not None and str(cause) and str(cause) not in parts[0]:
            parts.append(f"caused by {type(cause).__name__}: {cause}")
        text = "\n".join(str(part) for part in parts)
    except Exception as broken:  # noqa: BLE001 - a candidate's own exception class may raise from __str__
        text = f"(its text could not be read: {type(broken).__name__})"
    return text.encode("utf-8", "replace").decode()[:_MAX_MESSAGE]


def _frames(exception: BaseException) -> tuple[Frame, ...]:
    frames = [
        Frame(file=summary.f_code.co_filename, line=line, function=summary.f_code.co_name)
        for summary, line in traceback.walk_tb(exception.__traceback__)
    ]
    if isinstance(exception, SyntaxError) and exception.lineno is not None:
        frames.append(Frame(file=str(exception.filename), line=exception.lineno, function="<module>"))
    return tuple(frames[-_MAX_FRAMES:])
