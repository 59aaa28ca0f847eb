"""The page in a real browser: one walk from a table to a signed list, and hostile tables on every step."""

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hostile import CLASSES, MARKUP, make_table
from officer import Officer
from pysirus.workbench.server import Page, free_port
from walk import Story, Walk

pytest.importorskip("starlette", reason="the workbench is served by starlette")
uvicorn = pytest.importorskip("uvicorn", reason="the workbench is served by uvicorn")


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="the page is opened by playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("the page is opened in Chromium, which is not installed (chromium)")
    with sync.sync_playwright() as playwright:
        quick = ["--no-sandbox", "--in-process-gpu", "--js-flags=--no-opt --max-lazy"]
        browser = playwright.chromium.launch(executable_path=chromium, args=quick)
        yield browser
        browser.close()


REFUSED = "400 (Bad Request)"  # which the page shows in words


@contextmanager
def served(session):
    """The page of a session, served by a thread."""
    import threading

    listening = free_port()
    page = Page(session, listening.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(page.app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield page.url
    finally:
        server.should_exit = True
        thread.join(timeout=10)


@pytest.fixture
def open_page(browser, session):
    """Open the page; at the end nothing was complained of, and nothing was asked of anybody else."""
    complaints, requests = [], []
    with served(session) as url, browser.new_context(accept_downloads=True) as context:
        tab = context.new_page()
        tab.set_default_timeout(20_000)
        tab.on("console", lambda message: complaints.append(message.text) if REFUSED not in message.text else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        tab.goto(url)
        yield tab
        assert tab.evaluate("window.hacked") is None
    assert complaints == []
    assert all(own.startswith((url, "data:", "blob:")) for own in requests)


def test_walk_from_a_table_to_a_signed_list(open_page, people, tmp_path):
    pytest.importorskip("cryptography")
    story = Story(people, "status", "classes", leave=("age", "amount", "claims", "time", "event"), rises=("income",))
    story = Story(**{**vars(story), "remove": 1, "wanted": "good", "group": "job", "add": "income < 1000 & size < 0"})
    out = tmp_path / "out"
    out.mkdir()
    Walk(open_page).through(story, out)
    document = json.loads((out / "people.json").read_text(encoding="utf-8"))
    assert document["facts"]["signatures"][0]["by"] == "A. Smith"
    assert [edit["removed"] != [] for edit in document["facts"]["edits"]] == [True, False]
    assert "age" not in [own["name"] for own in document["features"]]
    open_page.select_option("#language", "de")
    assert open_page.inner_text("#step-title") == "Unterschreiben und exportieren"


def hostile_table(folder, kind):
    """A table whose file, columns, cells and labels are hostile, and its target."""
    X, y = make_table(240, seed=0)
    target = {
        "number": y.round(3),
        "classes": np.array([*CLASSES[:2]], dtype=object)[(y > np.median(y)).astype(int)],
        "counts": np.floor(np.abs(y)).astype(int),
        "survival": np.exp(y / 9).round(4),
    }[kind]
    path = folder / f"<img src=x onerror=window.hacked=3> {kind}.csv"
    X["<b onclick=window.hacked=5>event</b>"] = (np.arange(len(y)) % 3 > 0).astype(int)
    X.assign(**{TARGET: target}).to_csv(path, index=False)
    return path


TARGET = "</script><script>window.hacked=4</script>"
SCREENS = ("table", "target", "tune", "rules", "decide", "ship")


@pytest.mark.parametrize("kind", ["number", "classes", "counts", "survival"])
def test_hostile_names_and_cells_are_text_on_every_step(open_page, tmp_path, kind):
    event = "<b onclick=window.hacked=5>event</b>" if kind == "survival" else None
    positive = CLASSES[1] if kind == "classes" else None
    story = Story(hostile_table(tmp_path, kind), TARGET, kind, event=event, positive=positive)
    given = {"remove": 1, "group": None if event else "flag", "by": "<img src=x onerror=window.hacked=6>"}
    given |= {"wanted": {"number": ">= 5", "classes": CLASSES[1], "counts": ">= 4", "survival": "<= 1"}[kind]}
    story, walk = Story(**{**vars(story), **given}), Walk(open_page)
    for step in SCREENS:
        getattr(walk, step)(story, *([tmp_path] if step == "ship" else []))
        assert open_page.locator("main img, main script, header img, main b[onclick]").count() == 0
    assert "<img" in open_page.inner_text(".stamp")
    open_page.click("button[data-step=table]")
    assert MARKUP in open_page.inner_text("main") and "onerror" in open_page.inner_text("#title")
    open_page.click("button[data-step=rules]")
    open_page.fill("#rule", "<img src=x onerror=window.hacked=7> < 3")
    open_page.wait_for_selector("#rule-said.wrong")
    open_page.click(".adding button[type=submit]")
    open_page.wait_for_selector("#problem:not([hidden])")
    assert open_page.locator("#problem img, #rule-said img, #completions img").count() == 0


def test_officer_who_does_not_program_gets_to_a_signed_list(open_page, people, tmp_path):
    pytest.importorskip("cryptography")
    officer = Officer(open_page)
    officer.choose(people, "status", "Which one?", "good")
    officer.tune(["age", "amount", "claims", "time", "event"], "income")
    officer.length(2)
    officer.refusal("bad", "good")
    officer.sign("A. Smith", tmp_path)
    document = json.loads((tmp_path / "people.json").read_text(encoding="utf-8"))
    assert document["facts"]["signatures"][0]["by"] == "A. Smith" and "income" in json.dumps(document["constraints"])
    assert not {"age", "claims"} & {own["name"] for own in document["features"]}


def through(page, people, seen):
    """A walk of all steps; ``seen`` is told of each when all of it is shown."""
    story = Story(people, "status", "classes", leave=("age",), rises=("income",), remove=1, wanted="good", group="job")
    walk = Walk(page, seen)
    for step in SCREENS[:5]:
        getattr(walk, step)(story)
    page.wait_for_selector("#all")
    seen("ship")


def test_keys_alone_reach_every_control_and_stay_there(open_page, people):
    through(open_page, people, lambda name: None)
    open_page.click("button[data-step=rules]")
    slider = open_page.locator("#length")
    slider.focus()
    for _ in range(2):  # the page is drawn anew after each
        open_page.keyboard.press("ArrowLeft")
        open_page.locator("#told:not(:empty)").wait_for(state="attached")
        Walk(open_page).ready()
        assert open_page.evaluate("document.activeElement.id") == "length"
        open_page.evaluate("document.getElementById('told').textContent = ''")
    assert open_page.locator("#done-title").count() == 1
    reached = set()
    open_page.evaluate("document.body.focus(), scrollTo(0, 0), document.activeElement.blur()")
    for _ in range(120):
        open_page.keyboard.press("Tab")
        reached.add(
            open_page.evaluate(
                "window.at = document.activeElement, at.id || at.getAttribute('aria-label') || at.textContent"
            )
        )
    shown = "button:not(:disabled), input, select, summary, circle[role=button]"
    names = open_page.evaluate(
        f"[...document.querySelectorAll('{shown}')].filter((own) => own.checkVisibility()).map("
        "(own) => own.id || own.getAttribute('aria-label') || own.textContent)"
    )
    assert set(filter(None, names)) <= reached


@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1180, "en"), ("dark", 390, "de")])
def test_axe_finds_nothing_to_complain_of(open_page, people, scheme, width, language):
    axe = os.environ.get("PYSIRUS_AXE")
    if axe is None:
        pytest.skip("axe-core is not here: npm install axe-core, then PYSIRUS_AXE=.../axe.min.js")
    open_page.set_viewport_size({"width": width, "height": 800})
    open_page.emulate_media(color_scheme=scheme)
    open_page.select_option("#language", language)
    open_page.evaluate(Path(axe).read_text(encoding="utf-8") + "; 0")
    found = []

    def look(name):
        told = open_page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        found.extend((name, own["id"], [node["html"][:150] for node in own["nodes"]][:4]) for own in told["violations"])
        assert open_page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            f"{name} is wider than the page"
        )

    through(open_page, people, look)
    assert found == []
