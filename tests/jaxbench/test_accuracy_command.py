"""``jaxbench accuracy``: its table, and the committed page and plot as it would write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxbench.cli import MISUSE, OK, main
from jaxbench.cli.accuracy import page_with
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.profiling.accuracy import stored_report

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"


def test_the_committed_page_is_what_the_command_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "accuracy.md"
    copy.write_text(PAGE.read_text())
    assert main(["accuracy", "--page", str(copy)]) == OK
    assert copy.read_text() == PAGE.read_text(), "run `jaxbench accuracy --page docs/accuracy.md`"
    plot = copy.with_suffix(".svg").read_text()
    assert plot == PAGE.with_suffix(".svg").read_text()
    assert plot.count("<title>") == stored_report().overall.cases
    assert "nothing was measured here" in capsys.readouterr().out


def test_json_carries_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["accuracy", "--json"]) == OK
    document = json.loads(capsys.readouterr().out)
    assert len(document["cases"]) == document["overall"]["cases"]
    assert document["leave_one_out"]["cases"] == document["overall"]["cases"]


def test_a_page_without_a_place_is_refused(tmp_path: Path) -> None:
    bare = tmp_path / "page.md"
    bare.write_text("# Nothing\n")
    assert main(["accuracy", "--page", str(bare)]) == MISUSE
    assert main(["accuracy", "--page", str(tmp_path / "absent.md")]) == MISUSE
    with pytest.raises(MisuseError, match="no place"):
        page_with("", stored_report())
