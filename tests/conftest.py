"""One warm runtime for the whole session, so that libtpu and jax are loaded once.

``portal`` runs an event loop in a thread; ``runtime`` is a ``LocalRuntime`` inside it. Tests stay synchronous:
``portal.call(runtime.trace, request)``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """An event loop in a thread, for synchronous tests of asynchronous code."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(scope="session")
def lab_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder of the tests' own."""
    return tmp_path_factory.mktemp("maxkernel-home")


@pytest.fixture(scope="session")
def runtime(portal: BlockingPortal, lab_home: Path) -> Iterator[LocalRuntime]:
    """The warm local runtime every toolchain test shares."""
    if importlib.util.find_spec("libtpu") is None:
        pytest.skip("no TPU compiler here: libtpu is not installed")
    from maxkernel_lab.runtimes.local import LocalRuntime

    with portal.wrap_async_context_manager(LocalRuntime(lab_home)) as running:
        yield running
