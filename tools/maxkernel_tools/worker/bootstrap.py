"""Started by path with ``python -I``: makes this package importable and runs one of its services.

A toolchain's interpreter has jax but not this project; only this package is added, so that nothing else of the lab's
own environment mixes with it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path


def install_package() -> None:
    """Make ``maxkernel_tools`` importable from where this file lies."""
    folder = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        sys.exit(f"{folder} is not a package")
    package = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = package
    spec.loader.exec_module(package)


def main() -> None:
    """Run ``nursery``, ``compile_service`` or ``probing``; ``--packages=DIR`` adds what its interpreter lacks, last."""
    arguments = sys.argv[1:]
    if arguments[0].startswith("--packages="):
        sys.path.append(arguments.pop(0).partition("=")[2])
    install_package()
    service = importlib.import_module(f"maxkernel_tools.worker.{arguments[0]}")
    service.main(arguments[1:])


if __name__ == "__main__":
    main()
