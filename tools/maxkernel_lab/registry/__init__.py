"""The tool registry: each tool once (name, arguments, result, handler), for every face of the lab."""

from maxkernel_lab.registry.catalogue import TOOLS, find_tool
from maxkernel_lab.registry.checking import parse_arguments
from maxkernel_lab.registry.definition import Arguments, Services, Tool

__all__ = ["TOOLS", "Arguments", "Services", "Tool", "find_tool", "parse_arguments"]
