"""Minds: who plans and writes. The step does not care which one it talks to."""

from maxkernel_orchestrators.minds.builtin import BuiltinMind
from maxkernel_orchestrators.minds.port import Attempt, Mind, Situation, Trouble

__all__ = ["Attempt", "BuiltinMind", "Mind", "Situation", "Trouble"]
