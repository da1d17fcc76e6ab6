"""A client waits for the server's start: at most twice what importing the SDK alone takes."""

from __future__ import annotations

import importlib.util

import pytest

from tests.lab.processes import REPO


@pytest.mark.slow
def test_the_server_starts_within_twice_the_import_of_the_sdk() -> None:
    spec = importlib.util.spec_from_file_location("start_time", REPO / "benchmarks" / "start_time.py")
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    measured = benchmark.measure(5)
    assert measured["ratio"] <= 2.0, measured
