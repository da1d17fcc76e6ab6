"""Policies: which node to go on from, by which move. Ask and tell; all chance comes from the caller's generator."""

from __future__ import annotations

from typing import Final

from maxkernel_orchestrators.searching.policies.beam import Beam
from maxkernel_orchestrators.searching.policies.chance import Chance
from maxkernel_orchestrators.searching.policies.islands import Islands
from maxkernel_orchestrators.searching.policies.mcts import Mcts
from maxkernel_orchestrators.searching.policies.parallel import Parallel
from maxkernel_orchestrators.searching.policies.port import Policy
from maxkernel_tools.errors import MisuseError

POLICIES: Final[dict[str, type[Policy]]] = {
    "parallel": Parallel,
    "beam": Beam,
    "mcts": Mcts,
    "islands": Islands,
    "random": Chance,
}


def make_policy(name: str) -> Policy:
    """Return a fresh policy.

    Raises:
        MisuseError: there is none of that name.
    """
    try:
        return POLICIES[name]()
    except KeyError:
        raise MisuseError(
            f"Unknown search policy {name!r}.", allowed=", ".join(POLICIES) + ".", action="Set policy to one of these."
        ) from None


__all__ = ["POLICIES", "Policy", "make_policy"]
