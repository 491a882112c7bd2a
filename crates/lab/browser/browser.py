"""Chromium without a window, by its WebDriver: nothing but Python's own library."""

import base64
import json
import subprocess
import urllib.error
import urllib.request


class Browser:
    """A browser of a width and height, in light or dark; ends with the `with` that holds it."""

    def __init__(self, width, height=900, dark=False):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.session = None
        try:
            self._start(width, height, dark)
        except BaseException:
            self.__exit__()
            raise

    def _start(self, width, height, dark):
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.port = int(line.split("on port")[1].strip(" .\n"))
                break
        else:
            raise SystemExit("chromedriver did not start")
        # Root has no sandbox, and a test of a file needs none.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options = {
            "args": arguments,
            "mobileEmulation": {
                "deviceMetrics": {"width": width, "height": height, "pixelRatio": 1, "touch": False}
            },
        }
        logs = {"browser": "ALL", "performance": "ALL"}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = answer["sessionId"]
        self.scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._media("")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self._in_session("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data,
            {"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"chromedriver: {error.read().decode()[:500]}") from error

    def _in_session(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    def command(self, name, parameters):
        """A command of the DevTools protocol."""
        return self._in_session(
            "POST", "/goog/cdp/execute", {"cmd": name, "params": parameters}
        )

    def open(self, path):
        """Opens a file."""
        self._in_session("POST", "/url", {"url": f"file://{path}"})

    def run(self, script, *arguments):
        """Runs a script in the page, and returns what it does."""
        body = {"script": script, "args": list(arguments)}
        return self._in_session("POST", "/execute/sync", body)

    def messages(self):
        """Messages on the page's console."""
        return [f"{m['level']}: {m['message']}" for m in self._log("browser")]

    def requests(self):
        """Addresses that the page asked for."""
        events = (json.loads(entry["message"])["message"] for entry in self._log("performance"))
        sent = (e["params"] for e in events if e["method"] == "Network.requestWillBeSent")
        return [params["request"]["url"] for params in sent]

    def _log(self, kind):
        return self._in_session("POST", "/se/log", {"type": kind})

    def picture(self, file, selector=None):
        """Writes a PNG of the whole page, or of an element."""
        if selector:
            script = (
                "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
                "return [r.left + scrollX - 8, r.top + scrollY - 8, r.width + 16, r.height + 16]"
            )
            x, y, width, height = self.run(script, selector)
        else:
            x, y = 0, 0
            script = "const e = document.documentElement; return [e.clientWidth, e.scrollHeight]"
            width, height = self.run(script)
        clip = {"x": max(x, 0), "y": max(y, 0), "width": width, "height": height, "scale": 1}
        shot = {"clip": clip, "captureBeyondViewport": True}
        data = self.command("Page.captureScreenshot", shot)["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(data))

    def on_paper(self, selector):
        """Classes of the elements of `selector` that would be printed."""
        script = (
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter((one) => getComputedStyle(one).display !== 'none').map((one) => one.className || one.tagName)"
        )
        self._media("print")
        found = self.run(script, selector)
        self._media("")
        return found

    def _media(self, media):
        """Emulates a medium, in the browser's colours: what is not named again is forgotten."""
        self.command("Emulation.setEmulatedMedia", {"media": media, "features": [self.scheme]})

    def print(self):
        """The page as PDF, in bytes."""
        return base64.b64decode(self.command("Page.printToPDF", {"preferCSSPageSize": True})["data"])
