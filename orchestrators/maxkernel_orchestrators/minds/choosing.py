"""From the ``author`` setting to a mind."""

from __future__ import annotations

from maxkernel_orchestrators.minds.builtin import BuiltinMind
from maxkernel_orchestrators.minds.port import Mind
from maxkernel_tools.errors import MisuseError


def choose_mind(author: str) -> Mind:
    """Return the mind the setting names.

    Raises:
        MisuseError: there is no such author; the message lists them.
    """
    if author in {"", "builtin"}:
        return BuiltinMind()
    raise MisuseError(f"Unknown author {author!r}.", allowed="builtin.", action="Set author to one of these.")
