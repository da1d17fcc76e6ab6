"""Which files a caller may name: roots, links, dot-dot, and files that are no files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maxkernel_lab.registry.paths import read_text_file, resolve_folder
from maxkernel_lab.settings import Settings
from maxkernel_tools.errors import MisuseError


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    work = tmp_path / "a folder, ünïcode"
    work.mkdir()
    (work / "kernel.py").write_text("x = 1\n")
    (tmp_path / "secret.py").write_text("secret = 1\n")
    return Settings(home=tmp_path / "home", workspace=work, roots=(work,))


def _read(settings: Settings, text: str, max_bytes: int = 1000) -> str:
    return read_text_file(text, settings, what="kernel file", max_bytes=max_bytes)[0]


def test_relative_and_absolute_paths_inside_are_read(settings: Settings) -> None:
    assert _read(settings, "kernel.py") == "x = 1\n"
    assert _read(settings, str(settings.workspace / "." / "kernel.py")) == "x = 1\n"


@pytest.mark.parametrize("text", ["../secret.py", "sub/../../secret.py", "/etc/passwd", "/proc/self/environ"])
def test_paths_outside_are_refused(settings: Settings, text: str) -> None:
    with pytest.raises(MisuseError, match="outside the allowed folders"):
        _read(settings, text)


def test_a_link_out_is_refused_and_a_link_in_is_followed(settings: Settings) -> None:
    (settings.workspace / "out.py").symlink_to(settings.workspace.parent / "secret.py")
    (settings.workspace / "in.py").symlink_to("kernel.py")
    (settings.workspace / "up").symlink_to(settings.workspace.parent, target_is_directory=True)
    for text in ("out.py", "up/secret.py"):
        with pytest.raises(MisuseError, match="outside the allowed folders"):
            _read(settings, text)
    assert _read(settings, "in.py") == "x = 1\n"


def test_a_file_outside_is_refused_alike_whether_it_exists_or_not(settings: Settings) -> None:
    messages = []
    for text in ("../secret.py", "../absent.py"):
        with pytest.raises(MisuseError) as caught:
            _read(settings, text)
        messages.append(str(caught.value).replace(text, "FILE"))
    assert messages[0] == messages[1]


def test_what_is_no_text_file_is_refused(settings: Settings) -> None:
    os.mkfifo(settings.workspace / "fifo.py")
    (settings.workspace / "latin.py").write_bytes(b"x = '\xe9'\n")
    (settings.workspace / "large.py").write_text("#" * 2000)
    (settings.workspace / "folder.py").mkdir()
    for text, words in (
        ("absent.py", "does not exist"),
        ("fifo.py", "not a regular file"),
        ("folder.py", "not a regular file"),
        ("latin.py", "not UTF-8"),
        ("large.py", "at most 1000 bytes"),
        ("nul\x00.py", "NUL"),
        ("kernel.py/deeper.py", "cannot be opened|does not exist"),
    ):
        with pytest.raises(MisuseError, match=words):
            _read(settings, text)


def test_an_import_root_must_be_a_folder_inside(settings: Settings) -> None:
    assert resolve_folder(".", settings, what="import root") == settings.workspace.resolve()
    with pytest.raises(MisuseError, match="not a folder"):
        resolve_folder("kernel.py", settings, what="import root")
    with pytest.raises(MisuseError, match="outside"):
        resolve_folder("..", settings, what="import root")
