"""Build what clients and registries take: the ``.mcpb`` bundle and ``server.json``, with our tools and prompts.

Usage: ``scripts/package [FOLDER]``. The same checkout gives the same bytes.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

from maxkernel_lab.registry import TOOLS
from maxkernel_mcp import __version__
from maxkernel_mcp.prompts import get_prompt, list_prompts

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("maxkernel_mcp", "tools", "orchestrators", "jaxbench")
FILES: Final = ("pyproject.toml", "README.md", "LICENSE")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def manifest() -> dict[str, Any]:
    """Return the bundle's manifest."""
    data: dict[str, Any] = json.loads((ROOT / "packaging" / "manifest.json").read_text(encoding="utf-8"))
    data["version"] = __version__
    data["tools"] = [{"name": tool.name, "description": tool.description} for tool in TOOLS]
    data["prompts"] = [_prompt(prompt) for prompt in list_prompts()]
    return data


def _prompt(prompt: Any) -> dict[str, Any]:
    names = [argument.name for argument in prompt.arguments]
    # The bundle's form fills ${arguments.NAME}; what our server answers is the same text.
    filled = get_prompt(prompt.name, {name: f"${{arguments.{name}}}" for name in names})
    return {
        "name": prompt.name,
        "description": prompt.title,
        "arguments": names,
        "text": filled.messages[0].content.text,
    }


def server() -> dict[str, Any]:
    """Return the registry's ``server.json``."""
    data: dict[str, Any] = json.loads((ROOT / "packaging" / "server.json").read_text(encoding="utf-8"))
    data["version"] = __version__
    for package in data["packages"]:
        package["version"] = __version__
    return data


def members() -> list[Path]:
    """Return the files of the bundle, relative to the checkout, in order."""
    found = [Path(name) for name in FILES]
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            hidden = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts)
            if path.is_file() and not hidden and path.suffix != ".pyc":
                found.append(path.relative_to(ROOT))
    return found


def build(folder: Path) -> tuple[Path, Path]:
    """Write bundle and ``server.json`` into ``folder`` and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle, listing = folder / f"maxkernel-{__version__}.mcpb", folder / "server.json"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "manifest.json", _text(manifest()))
        for path in members():
            _add(archive, path.as_posix(), (ROOT / path).read_bytes())
    listing.write_bytes(_text(server()))
    return bundle, listing


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, date_time=_EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def _text(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


if __name__ == "__main__":
    for written in build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"):
        sys.stdout.write(f"{written}\n")
