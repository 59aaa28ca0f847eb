"""What the server answers, and what it refuses: other hosts, other pages, large files, unknown steps."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("starlette", reason="the workbench is served by starlette")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from starlette.testclient import TestClient

from pysirus.workbench.server import Page, free_port

OWN = {"X-Workbench": "1"}
TOKEN = "token"
DOCS = Path(__file__).parents[2] / "docs" / "workbench.md"


@pytest.fixture
def page(session):
    return Page(session, 80, TOKEN)


@pytest.fixture
def client(page):
    return TestClient(page.app, base_url="http://127.0.0.1:80", headers={"Host": "127.0.0.1:80"})


def ask(client, action, **given):
    return client.post(f"/{TOKEN}/api/{action}", content=json.dumps(given), headers=OWN)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:81"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1:80"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"X-Workbench": "0"}, 403),
    ],
)
def test_requests_of_others_are_refused_with_a_message(client, headers, status):
    found = client.post(f"/{TOKEN}/api/state", content="{}", headers={**OWN, **headers})
    assert found.status_code == status and found.json()["error"].endswith(".")


REQUESTS = {
    "to another host": ("GET", "", {"Host": "evil.example"}, b"", 421),
    "from another page": ("POST", "api/state", {**OWN, "Origin": "https://evil.example"}, b"{}", 403),
    "from another site": ("POST", "api/state", {**OWN, "Sec-Fetch-Site": "cross-site"}, b"{}", 403),
    "without the header that the page sends": ("POST", "api/state", {}, b"{}", 403),
    "without the token, or with another one": ("GET", "../", {}, b"", 404),
    "for a path that leads out of the page": ("GET", "..%2f..%2fserver.py", {}, b"", 404),
    "for a file that is not offered": ("GET", "files/passwords", {}, b"", 400),
    "for files before there is a list": ("GET", "files/model", {}, b"", 400),
    "with a file of more than 200 MB": ("POST", "upload", {**OWN, "Content-Length": str(300 << 20)}, b"", 413),
    "with more than 1 MB for a step": ("POST", "api/aim", OWN, b"x" * (2 << 20), 413),
    "for a step that does not exist": ("POST", "api/nothing", OWN, b"{}", 404),
    "for a step, without named values": ("POST", "api/aim", OWN, b"[1", 400),
    "by another method": ("DELETE", "api/aim", OWN, b"", 405),
}


@pytest.mark.parametrize("what", REQUESTS)
def test_refusals_have_a_message_that_the_docs_list(client, what):
    method, path, headers, content, status = REQUESTS[what]
    found = client.request(method, f"/{TOKEN}/{path}", content=content, headers=headers)
    assert found.status_code == status and found.headers["content-security-policy"].startswith("default-src 'none'")
    message = found.json()["error"].replace("127.0.0.1:80", "127.0.0.1:PORT")
    page = DOCS.read_text(encoding="utf-8")
    assert f"| {what} | {message} |" in page


def test_list_of_refusals_in_the_docs_is_whole():
    rows = [
        line for line in DOCS.read_text(encoding="utf-8").splitlines() if re.match(r"\| (to|from|with|for|by)", line)
    ]
    assert [row.split(" | ")[0][2:] for row in rows] == list(REQUESTS)


@pytest.mark.parametrize("path", ["/", "/api/state", "/other/", f"/{TOKEN}x/", "/token/../x", f"/{TOKEN}/job.py"])
def test_addresses_without_the_token_lead_nowhere(client, path):
    assert client.get(path).status_code == 404


def test_token_is_long_and_never_the_same(session):
    first, second = Page(session, 1), Page(session, 1)
    assert len(first.token) >= 32 and first.token != second.token and first.url.startswith("http://127.0.0.1:1/")


def test_pages_let_nothing_be_loaded_from_elsewhere(client):
    found = client.get(f"/{TOKEN}/")
    assert found.status_code == 200 and "app.js" in found.text
    policy = found.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';") and "frame-ancestors 'none'" in policy
    assert found.headers["referrer-policy"] == "no-referrer" and found.headers["x-content-type-options"] == "nosniff"
    for name in ("app.js", "words.js", "workbench.css", "report.css", "charts.js", "vendor/d3.min.js"):
        assert client.get(f"/{TOKEN}/{name}").status_code == 200, name


def test_uploads_are_limited_and_names_are_no_paths(client, session, monkeypatch, tmp_path):
    monkeypatch.setattr("pysirus.workbench.server.MOST_BYTES", 200)
    big = client.post(f"/{TOKEN}/upload", content=b"a,b\n" + b"1,2\n" * 100, headers=OWN)
    assert big.status_code == 413 and "Take a sample" in big.json()["error"]
    chunks = client.post(f"/{TOKEN}/upload", content=iter([b"a,b\n"] * 100), headers=OWN)  # says no length
    assert chunks.status_code == 413
    name = "..%2F..%2Fetc%2F%3Cimg%20src%3Dx%3E.csv"
    small = client.post(f"/{TOKEN}/upload", content=b"a,b\n1,2\n3,4\n", headers={**OWN, "X-Name": name})
    assert small.status_code == 200 and small.json()["name"] == "<img src=x>.csv"
    assert session.path == tmp_path / "table.csv"
    empty = client.post(f"/{TOKEN}/upload", content=b"", headers=OWN)
    assert empty.status_code == 400 and "is empty" in empty.json()["error"]


def test_steps_answer_and_complain_in_words(client, page):
    assert ask(client, "nothing").status_code == 404
    assert client.post(f"/{TOKEN}/api/aim", content="[1]", headers=OWN).status_code == 400
    assert client.post(f"/{TOKEN}/api/aim", content="x" * (1 << 21), headers=OWN).status_code == 413
    assert "unexpected keyword" in ask(client, "aim", kind="number", target="size", folder="/").json()["error"]
    assert "tune first" in ask(client, "rules").json()["error"]
    assert ask(client, "aim", kind="number", target="size").json()["features"][0] == "income"
    found = ask(client, "tune").json()
    assert found["front"]["sizes"] and found["list"]["code"][0]["python"].startswith("from pysirus import")
    assert ask(client, "edit", method="close").status_code == 400
    assert ask(client, "edit", method="length", n_rules=2).json()["length"] == 2
    page.progress = {"state": "running"}
    assert ask(client, "rules").status_code == 409 and ask(client, "progress").status_code == 200


def test_files_are_handed_out_under_their_names(client):
    ask(client, "aim", kind="number", target="size")
    ask(client, "tune")
    found = client.get(f"/{TOKEN}/files/script")
    assert found.headers["content-disposition"] == "attachment; filename*=UTF-8''people.steps.py"
    assert "SirusRegressorCV" in found.text
    assert client.get(f"/{TOKEN}/files/passwords").status_code == 400


def test_port_that_is_taken_is_an_error_that_says_so():
    with free_port() as own, pytest.raises(OSError, match=r"Port \d+ cannot be used"):
        free_port(own.getsockname()[1])


def test_missing_library_is_an_error_that_names_the_extra(session, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(ImportError, match=r"pip install pysirus\[workbench\]"):
        Page(session, 80)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_it_within_a_second_even_while_it_tunes(people):
    command = [sys.executable, "-m", "pysirus", "workbench", "--no-browser", str(people)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()  # flushed, or it would wait here
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", url)

        def ask(action, given):
            sent = Request(f"{url}api/{action}", json.dumps(given).encode(), OWN)
            with suppress(OSError), urlopen(sent, timeout=60) as answer:
                return json.loads(answer.read())

        ask("aim", {"kind": "number", "target": "size"})
        threading.Thread(target=ask, args=("tune", {}), daemon=True).start()
        while ask("progress", {})["state"] != "running":
            time.sleep(0.05)
        server.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert server.wait(timeout=20) == 130
        took = time.monotonic() - began
    assert took < 10  # a second where nothing else runs


def test_step_that_cannot_tune_leaves_the_page_free(client):
    ask(client, "aim", kind="number", target="size")
    assert "unexpected keyword" in ask(client, "tune", folder="/").json()["error"]
    assert ask(client, "progress").json() == {"state": "idle"} and ask(client, "tune").status_code == 200


def test_another_table_waits_until_a_list_is_tuned(client, page, session):
    page.progress = {"state": "running"}
    found = client.post(f"/{TOKEN}/upload", content=b"a,b\n1,2\n3,4\n", headers={**OWN, "X-Name": "other.csv"})
    assert found.status_code == 409 and "being tuned" in found.json()["error"]
    assert session.name == "people.csv" and session.path.name == "people.csv"
