"""Keys of model providers: from the environment, else the system's keyring where one is installed. Never stored."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping
from typing import Final

from maxkernel_tools.errors import MisuseError

VARIABLES: Final[dict[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "ollama": ("OLLAMA_API_KEY",),
    "compatible": ("OPENAI_COMPATIBLE_API_KEY",),
}
"""Where each provider's key is looked for. A key of OpenAI's is never sent to another address."""
KEYRING_SERVICE: Final = "maxkernel"


def find_key(provider: str, environment: Mapping[str, str] | None = None) -> str | None:
    """Return a provider's key, or None."""
    env = os.environ if environment is None else environment
    for name in VARIABLES[provider]:
        if env.get(name):
            return env[name].strip()
    return _from_keyring(provider)


def require_key(provider: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a provider's key.

    Raises:
        MisuseError: there is none.
    """
    key = find_key(provider, environment)
    if key is None:
        names = " or ".join(VARIABLES[provider])
        raise MisuseError(
            f"There is no key for {provider}.",
            allowed=f"the environment variable {names}, or a keyring entry (service {KEYRING_SERVICE}, "
            f"user {provider}).",
            action=f"Set {names} where this is started, or use the author builtin, which needs no key.",
        )
    return key


def _from_keyring(provider: str) -> str | None:
    if importlib.util.find_spec("keyring") is None:
        return None
    keyring = importlib.import_module("keyring")
    errors = importlib.import_module("keyring.errors")
    try:
        found = keyring.get_password(KEYRING_SERVICE, provider)
    except errors.KeyringError:
        return None  # a locked or missing back end is as good as no entry
    return str(found) if found else None
