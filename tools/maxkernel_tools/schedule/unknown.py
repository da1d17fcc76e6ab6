"""The one error of this room: a dump that is written in a way nobody here has seen."""

from __future__ import annotations

from maxkernel_tools.errors import MaxKernelError


class UnknownFormatError(MaxKernelError):
    """A compiler dump has another form than the stored samples; callers turn it into ``schedule-unavailable``.

    Args:
        kind: which dump (``final_bundles``, ``post-ra``, ...).
        detail: what was met, short.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"Cannot read the {kind} dump: {detail}.")
        self.kind = kind
        self.detail = detail
