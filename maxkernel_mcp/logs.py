"""Logging: JSON lines on stderr or in a file, set up before the server object exists, so that nothing hooks in first.

What is logged are names, ids, counts and times of ours; never a header, a token, an argument or a kernel.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any, Final

import structlog

from maxkernel_lab.logs import stderr_logger
from maxkernel_tools.errors import MisuseError

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def configure_logging(level: str, file: Path | None = None) -> None:
    """Send our events and the libraries' to stderr, or to the end of ``file``, as one JSON object per line.

    Raises:
        MisuseError: the file cannot be written.
    """
    threshold = _LEVELS[level]
    handler = _handler(file)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=stderr_logger if file is None else structlog.WriteLoggerFactory(handler.stream),
        cache_logger_on_first_use=False,
    )
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.stdlib.add_logger_name,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)


def _handler(file: Path | None) -> logging.StreamHandler[Any]:
    if file is None:
        return logging.StreamHandler(sys.stderr)
    try:
        return logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise MisuseError(
            f"The log file {file} cannot be written: {error.strerror}.",
            allowed="a file in an existing folder of yours.",
            action="Choose another, or leave --log-file out for stderr.",
        ) from None
