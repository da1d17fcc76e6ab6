"""Loads role files and fills their placeholders; one that nobody fills, or that the file lacks, is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

ROLES: Final = ("planner", "implementer", "debugger", "tester", "profiler", "explainer")
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")


@dataclass(frozen=True)
class Role:
    """One role: its name, its text, and the placeholders the text has."""

    name: str
    text: str
    placeholders: frozenset[str]

    def prompt(self, **fields: str) -> str:
        """Return the role's text with every placeholder filled.

        Raises:
            ValueError: a placeholder is missing from ``fields``, or ``fields`` has one the text does not.
        """
        missing, unknown = self.placeholders - fields.keys(), fields.keys() - self.placeholders
        if missing or unknown:
            raise ValueError(
                f"Role {self.name}: not filled: {', '.join(sorted(missing)) or 'none'}; "
                f"not in its file: {', '.join(sorted(unknown)) or 'none'}."
            )
        # One pass, so that what is filled in cannot itself be taken for a placeholder.
        return _PLACEHOLDER.sub(lambda match: fields[match.group(1)], self.text)


@cache
def load_role(name: str) -> Role:
    """Read a role's file.

    Raises:
        ValueError: there is no such role; the message lists them.
    """
    if name not in ROLES:
        raise ValueError(f"Unknown role {name!r}. Roles: {', '.join(ROLES)}.")
    text = files("maxkernel_orchestrators.roles").joinpath(f"{name}.md").read_text(encoding="utf-8")
    return Role(name, text, frozenset(_PLACEHOLDER.findall(text)))
