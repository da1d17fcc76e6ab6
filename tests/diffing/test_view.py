"""The HTML view in a real browser: drawn, readable at both widths, in light and dark, harmless, without network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from maxkernel_tools.diffing import TraceDiff, full_diff
from maxkernel_tools.diffing.viewing import diff_page
from maxkernel_tools.traces import read_profile
from tests.diffing.browser import Browser
from tests.traces.captures import Call, Core, kernel, trace_events, write_trace

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><b>&amp;\u2028"


def capture(path: Path, factor: float) -> Path:
    core = Core()
    at = 0
    for run in range(3):
        began = at
        for index in range(12):
            length = int((40_000_000 + 10_000 * index) * (factor if index % 2 else 1))
            core.calls.append(Call(f"fusion.{index}", at, length, "loop fusion", f"jit(f)/layer{index}/add"))
            at += length
        calls = kernel(f"attention_{run}", [at + 10_000_000 * n for n in range(10)], [int(9_000_000 * factor)] * 10)
        core.calls.extend(calls)
        at += 100_000_000
        core.calls.append(Call(HOSTILE, at, 5_000_000, HOSTILE, HOSTILE, source=HOSTILE))
        at += 5_000_000
        core.modules.append(("jit_f(1)", began, at - began))
        at += 1_000
    return write_trace(path, trace_events({0: core}))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> TraceDiff:
    folder = tmp_path_factory.mktemp("view")
    one, two = (
        read_profile(capture(folder / f"{name}.trace.json.gz", factor)) for name, factor in (("a", 1), ("b", 0.9))
    )
    return full_diff(one, two)


@pytest.fixture(scope="module")
def page(found: TraceDiff, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "diff.html"
    file.write_text(diff_page(found), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


def test_the_page_is_one_file_with_nothing_of_a_name_as_markup(found: TraceDiff, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    assert text.count("</script>") == 2
    assert "onerror" in text
    assert "<img src=x" not in text
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.DOTALL).group(1))  # type: ignore[union-attr]
    assert HOSTILE in {row["name"] for row in data["rows"]}
    assert len(data["rows"]) == len(found.rows)


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_its_width(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.run("document.querySelector('#rows .row button').click()")
    assert browser.run("document.documentElement.scrollWidth") <= width
    # Text of every row lies inside the page, and nothing is set smaller than can be read.
    assert browser.run(
        "[...document.querySelectorAll('.row .name, .fall .name, .tile .value')]"
        ".every((one) => one.getBoundingClientRect().right <= innerWidth"
        " && parseFloat(getComputedStyle(one).fontSize) >= 12)"
    )
    light, ink = browser.run(
        "(() => { const style = getComputedStyle(document.body); const sum = (text) => text.match(/\\d+/g).slice(0, 3)"
        ".reduce((a, b) => a + Number(b), 0); return [sum(style.backgroundColor), sum(style.color)]; })()"
    )
    assert (light < ink) is dark
    assert abs(light - ink) > 450


def test_totals_waterfall_rows_and_strip_are_drawn(browser: Browser, page: Path, found: TraceDiff) -> None:
    browser.open(page, 1280)
    result = found.result
    assert result.delta_us is not None
    tiles = browser.run("[...document.querySelectorAll('.tile .value')].map((one) => one.title)")
    assert f"{result.delta_us:,.6f}".rstrip("0").rstrip(".").replace("-", "\u2212") + " µs" in tiles
    assert browser.run("document.querySelectorAll('#rows .row').length") == min(60, len(found.rows))
    # The waterfall ends where its last line says: each bar begins where the one above ended.
    parts = browser.run(
        "[...document.querySelectorAll('.fall')].map((one) => {"
        " const bar = one.querySelector('.bar').getBoundingClientRect();"
        " return [bar.left, bar.right, one.classList.contains('slower')]; })"
    )
    (*bars, whole), reached = parts, None
    for left, right, grows in bars:
        begin, end = (left, right) if grows else (right, left)
        assert reached is None or abs(begin - reached) < 2.5
        reached = end
    assert reached is not None
    assert abs((whole[1] if whole[2] else whole[0]) - reached) < 2.5
    browser.run("document.querySelector('button.fall').click()")
    assert browser.run("document.querySelector('.row.open .detail svg circle') !== null")
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "true"


def test_filter_and_verdicts_choose_rows(browser: Browser, page: Path, found: TraceDiff) -> None:
    browser.open(page, 1280)
    browser.run(
        "(() => { const box = document.getElementById('filter'); box.value = 'layer3/ fusion';"
        " box.dispatchEvent(new Event('input')); })()"
    )
    names = browser.run("[...document.querySelectorAll('#rows .row .sub')].map((one) => one.textContent)")
    assert names
    assert all("layer3/" in name for name in names)
    browser.run(
        "(() => { const box = document.getElementById('filter'); box.value = '';"
        " box.dispatchEvent(new Event('input')); document.getElementById('pallas').click(); })()"
    )
    shown = browser.run("document.querySelectorAll('#rows .row').length")
    assert shown == sum(row.is_pallas for row in found.rows)
    assert shown


def test_a_hostile_name_stays_text_and_nothing_is_fetched(browser: Browser, page: Path) -> None:
    browser.events.clear()
    browser.open(page, 1280)
    browser.run("[...document.querySelectorAll('#rows .row button')].forEach((one) => one.click())")
    assert browser.run("document.querySelectorAll('img, b, iframe').length") == 0
    assert "owned" not in browser.run("document.title")
    assert browser.run(f"document.body.innerText.includes({json.dumps(HOSTILE[:30])})")
    asked = [
        one["params"]["request"]["url"] for one in browser.events if one.get("method") == "Network.requestWillBeSent"
    ]
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    assert [one for one in browser.events if one.get("method") == "Runtime.exceptionThrown"] == []
