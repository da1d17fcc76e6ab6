"""``maxkernel runs export`` and ``runs read``: the store's content for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from maxkernel_lab.home import Home
from maxkernel_lab.settings import load_settings
from maxkernel_lab.store import RunStore
from maxkernel_lab.store.artifacts import URI_PREFIX
from maxkernel_lab.store.csv_report import write_results_csv
from maxkernel_mcp.cli import OK
from maxkernel_tools.errors import MisuseError


def export(options: argparse.Namespace) -> int:
    """Write every candidate run to a CSV file."""
    store = RunStore(Home(load_settings(flags={"home": options.home}).home).ensure())
    try:
        count = write_results_csv(store, Path(options.file).absolute())
    except OSError as error:
        raise MisuseError(
            f"Cannot write {options.file}: {error.strerror}.", allowed="a writable file.", action="Name another."
        ) from None
    finally:
        store.close()
    print(f"{count} runs written to {options.file}")
    return OK


def read(options: argparse.Namespace) -> int:
    """Print an artifact whole, byte for byte."""
    store = RunStore(Home(load_settings(flags={"home": options.home}).home).ensure())
    try:
        run_id, _, name = options.uri.removeprefix(URI_PREFIX).partition("/")
        found = store.artifact_path(run_id, name)
    finally:
        store.close()
    if found is None:
        raise MisuseError(
            f"No artifact at {options.uri!r}.",
            allowed="a uri from a result's artifacts.",
            action="See maxkernel runs show RUN.",
        )
    sys.stdout.buffer.write(found[0].read_bytes())
    return OK
