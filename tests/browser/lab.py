"""JupyterLab on a port of this machine, and its notebooks as a person uses them in a browser."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tfinsight

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
STARTED_WITHIN_S = 60.0
ANSWERED_WITHIN_S = 60.0
WIDTH, HEIGHT = 1280, 1000
# Folders that JupyterLab would otherwise take from, or put into, the user's home.
FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "IPYTHONDIR": "ipython",
}
# What the other tests set and a user's shell does not.
NOT_INHERITED = ("TF_CPP_MIN_LOG_LEVEL", "TF_CPU_ALLOCATOR_USE_BFC", "PYTEST_CURRENT_TEST")
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"checkForUpdates": False, "fetchNews": "false"},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}

KERNEL_READY = """() => {
    const kernel = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
    return kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""


class Lab:
    """A server of its own with folders of its own; its kernels run this Python.

    Attributes:
        notebooks: the folder that it serves.
        address: where it listens.
    """

    def __init__(self, folder: Path) -> None:
        self.notebooks = folder / "notebooks"
        self.notebooks.mkdir()
        self._token = secrets.token_hex(16)
        self._log = folder / "server.log"
        for name, settings in SETTINGS.items():
            file = folder / "settings" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings))
        port = _free_port()
        self.address = f"http://127.0.0.1:{port}"
        command = [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--ip=127.0.0.1",
            f"--port={port}",
        ]
        command += ["--ServerApp.port_retries=0", f"--ServerApp.root_dir={self.notebooks}"]
        command += ["--LabApp.news_url=", "--expose-app-in-browser"]
        if os.geteuid() == 0:
            command.append("--allow-root")
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env=_environment(folder, self._token)
            )
        try:
            self._wait_for_start()
        except BaseException:
            self.stop()
            raise

    def _wait_for_start(self) -> None:
        until = time.monotonic() + STARTED_WITHIN_S
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                self.ask("GET", "status")
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.2)
        raise RuntimeError(f"JupyterLab did not start:\n{self._log.read_text()}")

    def ask(self, method: str, path: str) -> Any:
        """Returns what the server's own interface answers, `None` where it says nothing."""
        request = urllib.request.Request(
            f"{self.address}/api/{path}",
            method=method,
            headers={"Authorization": f"token {self._token}"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def page_of(self, notebook: str) -> str:
        """Returns the address of a notebook in a workspace that nothing is open in yet."""
        workspace = f"w{secrets.token_hex(4)}"
        return f"{self.address}/lab/workspaces/{workspace}/tree/{notebook}?token={self._token}"

    def write(self, name: str, *cells: str) -> None:
        """Writes a notebook of code cells that were not run yet."""
        import nbformat.v4 as v4

        notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
        }
        (self.notebooks / name).write_text(v4.writes(notebook))

    def read(self, name: str) -> Any:
        """Returns a notebook as it is stored."""
        return json.loads((self.notebooks / name).read_text("utf-8"))

    def stop_kernels(self) -> None:
        """Shuts down every kernel, and waits until none is left."""
        for session in self.ask("GET", "sessions"):
            with contextlib.suppress(urllib.error.HTTPError):  # it went on its own
                self.ask("DELETE", f"sessions/{session['id']}")
        wait_until(lambda: self.ask("GET", "kernels") == [], "all kernels are down")

    def stop(self) -> None:
        """Ends the server and its kernels."""
        if self._process.poll() is None:
            with contextlib.suppress(OSError, AssertionError):
                self.stop_kernels()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Notebook:
    """A notebook that is open in a page of its own.

    Attributes:
        page: the browser's page.
        errors: what the page's scripts failed with.
    """

    def __init__(self, lab: Lab, browser: Browser, name: str) -> None:
        self._lab, self._name = lab, name
        self.page: Page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        self.page.set_default_timeout(ANSWERED_WITHIN_S * 1000)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.add_init_script("window.tfiRan = [];")
        self.page.goto(lab.page_of(name))
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        self.page.evaluate("window.jupyterapp.shell.collapseLeft()")  # the list of files
        self.page.wait_for_function(KERNEL_READY)  # a cell that is run earlier is not run at all

    def cell(self, index: int) -> Locator:
        """Returns a cell, the first being 0."""
        return self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{index}"]')

    def start(self, index: int) -> None:
        """Has a cell run, by a click into it and Shift+Enter."""
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")

    def wait(self, index: int) -> Locator:
        """Returns a cell once it has run."""
        prompt = self.cell(index).locator(".jp-InputPrompt")
        wait_until(
            lambda: prompt.inner_text().strip("[]: ").isdigit(), f"cell {index} ran", self.page
        )
        return self.cell(index)

    def run(self, *indices: int) -> None:
        """Runs cells one after the other, and waits for each."""
        for index in indices:
            self.start(index)
            self.wait(index)

    def theme(self, name: str) -> None:
        """Changes JupyterLab's theme, as the menu Settings > Theme does."""
        self.page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})",
            name,
        )
        light = str(name == LIGHT).lower()
        self.page.locator(f'body[data-jp-theme-light="{light}"]').wait_for(state="attached")

    def save(self) -> None:
        """Saves by Ctrl+S."""
        self.page.keyboard.press("Control+s")
        self.page.locator(".lm-TabBar-tab.jp-mod-current.jp-mod-dirty").wait_for(state="detached")

    def ran(self) -> list[Any]:
        """Returns what payloads of the reports ran; see `payloads`."""
        found: list[Any] = self.page.evaluate("window.tfiRan")
        return found

    @contextlib.contextmanager
    def whole(self, index: int, width: int = WIDTH) -> Iterator[None]:
        """Makes the window so high that all of a cell is seen, until the block ends."""
        self.page.set_viewport_size({"width": width, "height": HEIGHT})
        box = self.cell(index).bounding_box()
        assert box is not None
        self.page.set_viewport_size({"width": width, "height": int(box["height"]) + 200})
        self.cell(index).scroll_into_view_if_needed()
        self.page.wait_for_timeout(300)  # JupyterLab lays its panels out anew
        yield
        self.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})

    def picture(self, folder: Path, step: str) -> None:
        """Takes a screenshot of the window, named by the step."""
        self.page.screenshot(path=folder / f"{step}.png")

    def close(self) -> None:
        """Closes the page; the kernel runs on."""
        self.page.close()


@contextlib.contextmanager
def opened(lab: Lab, browser: Browser, name: str) -> Iterator[Notebook]:
    """A notebook that is open until the block ends."""
    notebook = Notebook(lab, browser, name)
    try:
        yield notebook
    finally:
        notebook.close()


def wait_until(
    holds: Callable[[], bool],
    what: str,
    page: Page | None = None,
    limit_s: float = ANSWERED_WITHIN_S,
) -> None:
    """Waits until something holds; with a page, its events go on meanwhile."""
    until = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < until, f"in {limit_s:.0f} s it did not come to this: {what}"
        if page is None:
            time.sleep(0.1)
        else:
            page.wait_for_timeout(100)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _environment(folder: Path, token: str) -> dict[str, str]:
    """Returns the server's environment: this copy of tfinsight, and nothing of the user's settings."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_INHERITED and not name.startswith(("JUPYTER", "IPYTHON"))
    }
    for name, place in FOLDERS.items():
        (folder / place).mkdir(exist_ok=True)
        environment[name] = str(folder / place)
    home = str(Path(tfinsight.__file__).parents[1])
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([home, before] if before else [home])
    environment["JUPYTER_TOKEN"] = token
    return environment
