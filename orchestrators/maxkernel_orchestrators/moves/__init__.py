"""Names of the moves plans make."""

from typing import Final

OWN_MOVE: Final = "own kernel"
"""The move of a kernel the run starts from: nobody here planned it."""

__all__ = ["OWN_MOVE"]
