"""Events reach the stderr of the moment, not the one that was there when logging was set up."""

from __future__ import annotations

import io
import sys

import pytest
import structlog

from maxkernel_lab.logs import stderr_logger


def test_an_event_goes_to_the_stderr_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    at_setup = io.StringIO()
    monkeypatch.setattr(sys, "stderr", at_setup)
    structlog.reset_defaults()  # an earlier test may have left a level behind
    structlog.configure(processors=[structlog.processors.JSONRenderer()], logger_factory=stderr_logger)
    at_setup.close()
    now = io.StringIO()
    monkeypatch.setattr(sys, "stderr", now)
    try:
        structlog.get_logger().info("hello")
    finally:
        structlog.reset_defaults()
    assert '"hello"' in now.getvalue()
