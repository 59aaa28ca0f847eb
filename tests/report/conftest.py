"""Reports opened in a real browser, in which nothing is loaded and nothing is logged."""

import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="reports are opened by playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("reports are opened in Chromium, which is not installed (chromium)")
    with sync.sync_playwright() as playwright:
        # a page lives for a second, too short a time for scripts to be worth optimizing
        quick = ["--no-sandbox", "--in-process-gpu", "--js-flags=--no-opt --max-lazy"]
        browser = playwright.chromium.launch(executable_path=chromium, args=quick)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(browser):
    """Where all reports are opened: with one of its own each would need another process."""
    with browser.new_context() as context:
        yield context


@pytest.fixture(scope="module")
def tabs():
    """Tabs that tests use one after another: a new tab is a new process, and takes longer than a page."""
    return []


@pytest.fixture
def blank_tab(context, tabs):
    """The first tab, with nothing in it."""
    if not tabs:
        tabs.append(context.new_page())
    tabs[0].goto("about:blank")
    return tabs[0]


@pytest.fixture
def open_report(context, tabs, tmp_path):
    """Open a report; at the end no error was logged and no request left the file."""
    complaints, requests = [], []
    watched = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda request: requests.append(request.url),
        "dialog": lambda dialog: complaints.append(f"dialog {dialog.message}"),
    }
    n_opened = 0

    def open_(model, *args, width=1280, scheme="light", **options):
        nonlocal n_opened
        path = tmp_path / f"report{n_opened}.html"
        model.report(path, *args, **options)
        assert path.stat().st_size < 2_000_000
        if n_opened == len(tabs):
            tabs.append(context.new_page())
        tab = tabs[n_opened]
        n_opened += 1
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme)
        for event, listener in watched.items():
            tab.on(event, listener)
        tab.goto(path.as_uri())
        return tab

    yield open_
    for tab in tabs[:n_opened]:
        tab.evaluate("0")  # what was logged before it has arrived now
        for event, listener in watched.items():
            tab.remove_listener(event, listener)
        tab.goto("about:blank")
    assert complaints == []
    assert len(requests) == n_opened and all(url.startswith("file:") for url in requests)
