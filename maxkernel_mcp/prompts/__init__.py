"""Prompts for people who start from their client: one Markdown file each, with a title, its arguments and the text."""

from maxkernel_mcp.prompts.loading import get_prompt, list_prompts

__all__ = ["get_prompt", "list_prompts"]
