# SPDX-License-Identifier: BSD-3-Clause
"""Headless Chromium by the DevTools protocol over a pipe; python3 alone, no network, no port.

    with Browser() as browser:
        page = browser.open("file:///tmp/x.html", width=1280, height=800)
        page.value("document.title")
        page.click(100, 200); page.key("Enter"); page.type("text")
        page.screenshot("x.png")
        page.complaints     # errors and warnings of the console, exceptions, requests
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --disable-extensions --disable-default-apps
--mute-audio --hide-scrollbars --force-color-profile=srgb --remote-debugging-pipe""".split()
LIMIT = 60

KEYS = {
    "Enter": (13, "\r"), "Escape": (27, ""), "Backspace": (8, ""), "Home": (36, ""), " ": (32, " "), "Tab": (9, ""),
    "ArrowUp": (38, ""), "ArrowDown": (40, ""), "ArrowLeft": (37, ""), "ArrowRight": (39, ""),
}


def find_chromium():
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self, flags=()):
        self.home = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()
        # The protocol's descriptors are 3 and 4, whatever this script's are.
        command = [find_chromium(), *FLAGS, *flags, f"--user-data-dir={self.home}", "about:blank"]
        shell = ["sh", "-c", f'exec 3<&{to_read} 4>&{from_write}; exec "$@"', "sh", *command]
        self.log = open(os.path.join(self.home, "log"), "wb")
        environment = dict(os.environ, HOME=self.home, XDG_RUNTIME_DIR=self.home)
        for name in [n for n in environment if n.lower().endswith("_proxy") or n.startswith("DBUS")]:
            del environment[name]
        self.process = subprocess.Popen(
            shell, pass_fds=(to_read, from_write), stdout=self.log, stderr=self.log, env=environment)
        os.close(to_read)
        os.close(from_write)
        self.pending, self.answers, self.number = b"", {}, 0
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.come)
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def send(self, method, params=None, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def receive(self, until):
        """One more message; events go to their page."""
        while b"\0" not in self.pending:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.come], [], [], left)[0]:
                raise RuntimeError("chromium doesn't answer")
            data = os.read(self.come, 1 << 20)
            if not data:
                raise RuntimeError("chromium ended: " + open(self.log.name, errors="replace").read()[-600:])
            self.pending += data
        raw, self.pending = self.pending.split(b"\0", 1)
        message = json.loads(raw)
        if "id" in message:
            self.answers[message["id"]] = message
        elif message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].event(message["method"], message["params"])

    def ask(self, method, params=None, session=None):
        number, until = self.send(method, params, session), time.monotonic() + LIMIT
        while number not in self.answers:
            self.receive(until)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url, **how):
        target = self.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self.pages[session] = Page(self, session)
        page.start(url, **how)
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.complaints, self.requests, self.loaded = [], [], False

    def ask(self, method, **params):
        return self.browser.ask(method, params, self.session)

    def start(self, url, width=1280, height=800, scale=1, dark=False, still=True):
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.prefer(dark, still)
        self.ask("Page.navigate", url=url)
        self.wait_loaded()

    def wait_loaded(self):
        until = time.monotonic() + LIMIT
        while not self.loaded:
            self.browser.receive(until)
        self.settle()

    def reload(self):
        self.loaded = False
        self.ask("Page.reload")
        self.wait_loaded()

    def back(self):
        """One step of the page's own history."""
        self.value("new Promise(done => { addEventListener('popstate', done, { once: true }); history.back(); })")
        self.settle()

    def resize(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.settle()

    def prefer(self, dark, still=True):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def event(self, method, params):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def settle(self):
        """Until what was asked for is drawn: two frames."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", buttons=0, clickCount=1)
        self.settle()

    def drag(self, x, y, to):
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for i in range(1, 6):
            self.mouse("mouseMoved", x + (to - x) * i / 5, y, button="left", buttons=1)
        self.mouse("mouseReleased", to, y, button="left", buttons=0, clickCount=1)
        self.settle()

    def wheel(self, x, y, delta, control=False):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, modifiers=2 if control else 0)
        self.settle()

    def key(self, key, shift=False):
        code, text = KEYS[key] if key in KEYS else (ord(key.upper()), key)
        params = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **params)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **params)
        self.settle()

    def type(self, text):
        self.ask("Input.insertText", text=text)
        self.settle()

    def screenshot(self, path):
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
