"""Kernel source as the tools take it."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from maxkernel_tools.records.base import Record

ParamValue = bool | int | float | str
"""A value of ``PARAMS``: what ``workload(*inputs, **PARAMS)`` may be tuned by."""

ENTRY_NAMES: Final = ("workload", "computation")
"""Accepted entry functions, first match wins."""

CANDIDATE_FILE_NAME: Final = "kernel.py"
"""The fixed file name a candidate is loaded under.

Exported bytes embed it, so that a kernel gives the same cache entry from every folder.
"""


class KernelSource(Record):
    """The text of one kernel file, and where it may import from.

    Attributes:
        text: Python source defining ``workload(*inputs, **params)``.
        file: the path to show a person, or None when it came as text.
        import_roots: absolute folders of the user's project the kernel may import from.
    """

    text: str
    file: str | None = None
    import_roots: tuple[str, ...] = ()

    @property
    def display_name(self) -> str:
        """The name findings use for the file."""
        return self.file or CANDIDATE_FILE_NAME

    def line(self, number: int | None) -> str | None:
        """Return the text of 1-based line ``number``, stripped, or None."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if number is not None and 1 <= number <= len(lines) else None

    @property
    def sha256(self) -> str:
        """Hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def params_key(params: dict[str, ParamValue]) -> str:
    """Return a canonical text of ``params`` for hashing."""
    return json.dumps(params, sort_keys=True, separators=(",", ":"))
