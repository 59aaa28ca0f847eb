"""The page in a real browser: one walk from a table to a signed list, and hostile tables on every step."""

import json
import shutil
from contextlib import contextmanager

import pytest

from hostile import MARKUP, make_table
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
        tab.on("console", lambda message: complaints.append(message.text))
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


def test_hostile_names_and_cells_are_text_on_every_step(open_page, tmp_path):
    X, y = make_table(200, seed=0)
    name = "<img src=x onerror=window.hacked=3>.csv"
    X.assign(**{"</script><script>window.hacked=4</script>": y.round(3)}).to_csv(tmp_path / name, index=False)
    story = Story(tmp_path / name, "</script><script>window.hacked=4</script>", "number")
    walk = Walk(open_page)
    for step in ("table", "target", "tune", "rules", "decide"):
        getattr(walk, step)(story)
        assert open_page.locator("main img, main script, header img").count() == 0
    open_page.click("button[data-step=rules]")
    assert MARKUP in open_page.inner_text("main")
