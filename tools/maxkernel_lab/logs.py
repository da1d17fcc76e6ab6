"""Where log events go: the stderr of the moment they are written, since a caller may have replaced it since start."""

from __future__ import annotations

import sys

import structlog


def stderr_logger(*_: object) -> structlog.PrintLogger:
    """Return a logger that writes to the present ``sys.stderr``; a ``structlog`` logger factory."""
    return structlog.PrintLogger(sys.stderr)
