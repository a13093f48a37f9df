"""A real browser with no network, driven through its own pipe: what a page is, and what it loads."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # containers have none; the page is the only one it sees
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--proxy-server=127.0.0.1:9",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
_ANSWER_BYTES = 64 * 1024


def browser_path() -> str | None:
    """Return a browser of this machine, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Browser:
    """A page in a browser.

    Attributes:
        requests: what the page asked for.
        said: what it wrote to the console, and what it broke.
        dialogs: what scripts of it wanted to say.
    """

    sending: int
    receiving: int
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    _session: str | None = None
    _number: int = 0
    _rest: bytes = b""
    _loaded: bool = False

    def open(self, page: Path) -> None:
        """Open a page and wait until it is there."""
        if self._session is None:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self._session = str(attached["sessionId"])
            for domain in ("Page", "Network", "Log", "Runtime"):
                self.call(f"{domain}.enable")
        self._loaded = False
        self.call("Page.navigate", url=page.as_uri())
        while not self._loaded:
            self._note(self._receive())

    def show(self, width: int, *, dark: bool = False) -> None:
        """Show the page at this width, as by day or by night."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def ask(self, expression: str) -> Any:
        """Return what an expression of ours gives in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def picture(self) -> bytes:
        """Return the whole page as a PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def printed(self) -> bytes:
        """Return the page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the browser's protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self.sending, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _note(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.said.append(json.dumps(parameters))
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(parameters["message"])
            self._number += 1
            answer = {"id": self._number, "method": "Page.handleJavaScriptDialog"}
            answer |= {"params": {"accept": True}, "sessionId": self._session}
            os.write(self.sending, json.dumps(answer).encode() + b"\0")
        elif method == "Page.loadEventFired":
            self._loaded = True

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self.receiving, _ANSWER_BYTES)
            assert more, "the browser went away"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def browser(path: str, profile: Path) -> Iterator[Browser]:
    """Start a browser, and end it."""
    theirs, sending = os.pipe()
    receiving, ours = os.pipe()
    # The browser reads its descriptor 3 and writes its descriptor 4.
    line = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
    command = ["bash", "-c", line, "browser", str(theirs), str(ours), path, *_OPTIONS]
    with subprocess.Popen(
        [*command, f"--user-data-dir={profile}"],
        pass_fds=(theirs, ours),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"HOME": str(profile), "PATH": os.environ["PATH"]},
    ) as process:
        os.close(theirs)
        os.close(ours)
        try:
            yield Browser(sending, receiving)
        finally:
            process.terminate()
            os.close(sending)
            os.close(receiving)
