"""The lab as an orchestrator sees it: typed answers over one MCP connection."""

from maxkernel_orchestrators.connection.lab import Lab, LabError, LabGoneError, LabRefusalError, Subject

__all__ = ["Lab", "LabError", "LabGoneError", "LabRefusalError", "Subject"]
