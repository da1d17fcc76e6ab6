"""The guide: one Markdown page per topic, its sections, and the example kernel each page carries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from maxkernel_tools.errors import MisuseError

_EXAMPLE: Final = re.compile(r"```python\n# inputs: (?P<inputs>[^\n]+)\n(?P<source>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        topic: its name in ``maxkernel://guide/{topic}``.
        title: first heading. text: the whole page.
        sections: heading and text of each, the page's introduction under its title.
        example: source of a kernel that compiles; ``inputs`` are its abstract inputs.
    """

    topic: str
    title: str
    text: str
    sections: tuple[tuple[str, str], ...]
    example: str
    inputs: tuple[str, ...]

    @property
    def uri(self) -> str:
        """The page as a resource."""
        return f"maxkernel://guide/{self.topic}"


@cache
def guide_pages() -> tuple[Page, ...]:
    """Return all pages, by topic."""
    folder = files("maxkernel_tools.docs").joinpath("guide")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".md"))
    return tuple(_page(name[:-3], folder.joinpath(name).read_text(encoding="utf-8")) for name in names)


def guide_page(topic: str) -> Page:
    """Return one page.

    Raises:
        MisuseError: there is no such topic.
    """
    for page in guide_pages():
        if page.topic == topic:
            return page
    raise MisuseError(
        f"The guide has no page {topic[:80]!r}.",
        allowed=", ".join(page.topic for page in guide_pages()) + ".",
        action="Read one of these, or search with lookup_docs.",
    )


def _page(topic: str, text: str) -> Page:
    example = _EXAMPLE.search(text)
    if example is None:
        raise ValueError(f"guide page {topic} has no example that names its inputs")
    head, *rest = text.split("\n## ")
    title = head.splitlines()[0].removeprefix("# ")
    sections = [(title, head.partition("\n")[2].strip())]
    for part in rest:
        heading, _, body = part.partition("\n")
        sections.append((heading.strip(), body.strip()))
    return Page(
        topic=topic,
        title=title,
        text=text,
        sections=tuple(section for section in sections if section[1]),
        example=example["source"],
        inputs=tuple(part.strip() for part in example["inputs"].split(";")),
    )
