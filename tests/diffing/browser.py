"""Headless Chromium over its own pipe: no driver, no server, no network. Absent, the tests that need it skip."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium() -> str:
    """Return the browser's program; skip the calling test where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    return found


class Browser:
    """One page of one browser, spoken to in the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""

    def __init__(self, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        # The browser reads commands on descriptor 3 and answers on 4.
        line = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", line, "browser", chromium(), *arguments, f"--user-data-dir={profile}"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._next = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []
        target = self._ask("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        self._session = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the page and return its answer."""
        return self._ask(method, parameters, self._session)

    def _ask(self, method: str, parameters: dict[str, Any], session: str | None) -> dict[str, Any]:
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 120
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self._next:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            received = os.read(self._in, 1 << 20)
            assert received, "the browser is gone"
            self._buffer += received
        line, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)

    def open(self, page: Path, width: int, *, dark: bool = False) -> None:
        """Show a file at a width and wait until its script has drawn it."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=page.as_uri())
        self.run(
            "new Promise((resolve) => { const look = () => document.documentElement?.dataset.ready"
            " ? resolve(true) : requestAnimationFrame(look); look(); })"
        )

    def run(self, script: str) -> Any:
        """Return what a script gives in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def close(self) -> None:
        """End the browser."""
        self.process.kill()
        self.process.wait(timeout=30)
        os.close(self._in)
        os.close(self._out)
