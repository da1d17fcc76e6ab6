"""The exception tree of the tools.

    MaxKernelError
    ├── MisuseError        the caller gave something that is not allowed; the message says what is
    └── MachineryError     the lab itself failed (a service died, the disk is full); never held against a candidate
        ├── DeadlineError  a step of the lab exceeded its deadline
        └── UnavailableError  this machine lacks what the call needs (no libtpu wheels, no TPU)

A wrong kernel is a result with findings, never an exception.
"""

from __future__ import annotations


class MaxKernelError(Exception):
    """Base of every error this project raises on purpose."""


class MisuseError(MaxKernelError):
    """The call was wrong: what was given, what is allowed, what to do next.

    Args:
        given: what the caller passed, short.
        allowed: what would have been accepted.
        action: one thing to do next.
    """

    def __init__(self, given: str, *, allowed: str, action: str) -> None:
        super().__init__(f"{given} Allowed: {allowed} {action}")
        self.given = given
        self.allowed = allowed
        self.action = action


class MachineryError(MaxKernelError):
    """The lab failed; says nothing about the candidate."""


class DeadlineError(MachineryError):
    """A step of the lab did not answer in time."""


class UnavailableError(MachineryError):
    """This machine cannot do what was asked; the message says where it can be done."""
