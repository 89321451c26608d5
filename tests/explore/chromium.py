"""A headless Chromium to test pages with: scripts, mouse and keys over its debugging pipe, nothing to install."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
from itertools import count

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
VIRTUAL_KEYS = {"Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46}
MODIFIERS = {"Control": 2, "Shift": 8}
PATIENCE = 60


def executable():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page of one Chromium; use it as a context."""

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        orders, self._to = os.pipe()
        self._from, answers = os.pipe()
        self._start(orders, answers)
        os.close(orders)
        os.close(answers)
        self._buffer, self._ids, self._session = b"", count(1), None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def _start(self, orders, answers):
        """Chromium reads its orders from descriptor 3 and answers on descriptor 4."""
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 16) for end in (orders, answers)]

        def place():
            for wanted, end in zip((3, 4), high, strict=True):
                os.dup2(end, wanted)

        command = [executable(), *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=(3, 4), preexec_fn=place, **quiet)
        for end in high:
            os.close(end)

    def __exit__(self, *_):
        self._session = None
        self.call("Browser.close")
        self._process.wait(timeout=PATIENCE)
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def call(self, method, **parameters):
        """Send one order and wait for its answer; what happens in between is kept in `events`."""
        number = next(self._ids)
        order = {"id": number, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._to, json.dumps(order).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") != number:
                self.events.append(message)
                continue
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            return message["result"]

    def _receive(self):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], PATIENCE)
            chunk = os.read(self._from, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError(f"Chromium went away, or said nothing for {PATIENCE} s")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def open(self, path, width=1200, height=1000, dark=False):
        """Load a file in a window of that size, and wait until its scripts have run."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def run(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", answer))
        return answer["result"].get("value")

    def centre(self, selector):
        """The middle of an element that is scrolled into view, in pixels of the window."""
        box = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{box}.scrollIntoView({{block: 'center'}})")
        return self.run(f"(b => [b.left + b.width / 2, b.top + b.height / 2])({box}.getBoundingClientRect())")

    def drag(self, selector, right, down):
        """Press on the middle of an element, move in steps, let go."""
        x, y = self.centre(selector)
        self._mouse("mousePressed", x, y)
        for part in (0.3, 0.7, 1.0):
            self._mouse("mouseMoved", x + part * right, y + part * down)
        self._mouse("mouseReleased", x + right, y + down)

    def click(self, selector):
        x, y = self.centre(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, x, y)

    def _mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def press(self, key, *held):
        """One key, such as "ArrowUp" or "+", with modifiers held."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        modifiers = sum(MODIFIERS[name] for name in held)
        common = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": VIRTUAL_KEYS.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text="" if "Control" in held else text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def complaints(self):
        """Errors of scripts, and requests for anything but the page itself."""
        found = [(event.get("method"), event.get("params")) for event in self.events]
        failed = [told for method, told in found if method in ("Runtime.exceptionThrown", "Log.entryAdded")]
        sent = [told["request"]["url"] for method, told in found if method == "Network.requestWillBeSent"]
        return failed + [url for url in sent if not url.startswith(("file:", "data:"))]
