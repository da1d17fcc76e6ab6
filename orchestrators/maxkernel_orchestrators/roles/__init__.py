"""The roles of the step as Markdown files, and the typed answers they give."""

from maxkernel_orchestrators.roles.answers import (
    Diagnosis,
    Expectation,
    Explanation,
    Implementation,
    Plan,
    ProfileReading,
    TestReading,
)
from maxkernel_orchestrators.roles.loading import ROLES, Role, load_role

__all__ = [
    "ROLES",
    "Diagnosis",
    "Expectation",
    "Explanation",
    "Implementation",
    "Plan",
    "ProfileReading",
    "Role",
    "TestReading",
    "load_role",
]
