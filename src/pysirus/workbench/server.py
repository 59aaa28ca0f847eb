"""A session in, a page on this computer out: Starlette on loopback, for one browser that knows the address.

Every address begins with a random token. A request must name this computer as its host and come from the page itself;
what is refused is refused with a message. Nothing is sent anywhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysirus._text.message import SafeTextError, say
from pysirus.report import PLOT_STYLE
from pysirus.workbench import views
from pysirus.workbench.plan import Stopped
from pysirus.workbench.session import MOST_BYTES, Session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MISSING = "The workbench needs starlette and uvicorn: pip install pysirus[workbench]."
ENDING = re.compile(r"\.(csv|tsv|txt|xlsx|xlsm|parquet)(\.(gz|bz2|zst|lz4|br))?$")  # of a table, as it is kept
MOST_JSON = 1 << 20  # bytes of a request that is no file
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; script-src 'self'; style-src 'self' {PLOT_STYLE}; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".json": "application/json"}
# what the page is made of, by the package that has it
ASSETS = {
    "": tuple(f"{name}.js" for name in ("app", "parts", "table", "target", "tune", "rules", "decide", "ship")),
    "style": ("workbench.css",),
    "report": ("report.css", "dom.js", "words.js", "charts.js", "vendor/d3.min.js", "vendor/plot.umd.min.js"),
}


class Refusal(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Page:
    """The page of a session: its addresses, and who may ask for them."""

    def __init__(self, session: Session, port: int, token: str | None = None) -> None:
        try:
            from starlette.applications import Starlette
            from starlette.routing import Route
        except ImportError as error:
            raise ImportError(MISSING) from error
        self.session, self.port = session, port
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.progress: dict[str, Any] = {"state": "idle"}
        self._busy = threading.Lock()
        base = f"/{self.token}"
        self.app = Starlette(
            routes=[
                Route(f"{base}/", self._guarded(self._index)),
                Route(f"{base}/upload", self._guarded(self._upload), methods=["POST"]),
                Route(f"{base}/api/{{action}}", self._guarded(self._act), methods=["POST"]),
                Route(f"{base}/files/{{what}}", self._guarded(self._file)),
                Route(f"{base}/{{path:path}}", self._guarded(self._asset)),
                Route("/{path:path}", self._guarded(self._nothing), methods=["GET", "POST"]),
            ],
            exception_handlers={405: _other_method},
        )

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    # ------------------------------------------------------------------------------------------------------- refusals

    def _guarded(self, answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """An answer, to those alone who may ask."""
        from starlette.responses import JSONResponse

        async def guarded(request: Request) -> Response:
            try:
                self._check(request)
                response: Response = await answer(request)
            except Refusal as refusal:
                response = JSONResponse({"error": str(refusal)}, refusal.status)
            except Stopped:
                response = JSONResponse({"stopped": True})
            except (SafeTextError, ImportError, OSError, ValueError, IndexError, TypeError) as error:
                response = JSONResponse({"error": say(str(error))}, 400)
            response.headers.update(HEADERS)
            return response

        return guarded

    def _check(self, request: Request) -> None:
        host, hosts = request.headers.get("host", ""), {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if host not in hosts:
            raise Refusal(421, f"This page is at 127.0.0.1:{self.port} only, and the request was for another host.")
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{own}" for own in hosts}:
            raise Refusal(403, "The request came from another page. Only the workbench itself may ask.")
        if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Refusal(403, "The request came from another site. Only the workbench itself may ask.")
        if request.method == "POST" and request.headers.get("x-workbench") != "1":
            raise Refusal(403, "The request does not come from the workbench.")

    async def _nothing(self, request: Request) -> Response:
        raise Refusal(404, "There is nothing here. Open the whole address that `pysirus workbench` printed.")

    # -------------------------------------------------------------------------------------------------------- answers

    async def _index(self, request: Request) -> Response:
        from starlette.responses import Response

        return Response(_asset("index.html"), media_type="text/html")

    async def _asset(self, request: Request) -> Response:
        from starlette.responses import Response

        path = request.path_params["path"]
        if not any(path in names for names in ASSETS.values()):
            raise Refusal(404, "There is no such file.")
        return Response(_asset(path), media_type=KINDS[Path(path).suffix])

    async def _upload(self, request: Request) -> Response:
        """A table: its bytes, and its name in a header, which is a name and no path."""
        from urllib.parse import unquote

        from starlette.concurrency import run_in_threadpool
        from starlette.responses import JSONResponse

        said = int(request.headers.get("content-length") or 0)
        name = Path(unquote(request.headers.get("x-name", "table.csv")).replace("\\", "/")).name or "table.csv"
        content = bytearray()
        if said <= MOST_BYTES:
            async for part in request.stream():
                content += part
                if len(content) > MOST_BYTES:
                    break
        self._check_idle()
        if max(said, len(content)) > MOST_BYTES:
            raise Refusal(
                413,
                f"The file is larger than {MOST_BYTES >> 20} MB, the most that the workbench takes. Take a sample of "
                "its rows, or use the command line, which reads in batches.",
            )
        ending = ENDING.search(name.lower())
        path = self.session.folder / f"table{ending[0] if ending else '.csv'}"
        return JSONResponse(await run_in_threadpool(self._open, path, bytes(content), name))

    def _open(self, path: Path, content: bytes, name: str) -> dict[str, Any]:
        """Another table, once no step needs the one before."""
        with self._busy:
            path.write_bytes(content)
            return self.session.open(path, name)

    async def _act(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import JSONResponse

        name = request.path_params["action"]
        if name not in ACTIONS:
            raise Refusal(404, f"There is no step '{name}'.")
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > MOST_JSON:
                raise Refusal(413, "The request is too large.")
        import json

        try:
            given = json.loads(bytes(content) or b"{}")
        except ValueError:
            given = None
        if not isinstance(given, dict):
            raise Refusal(400, "A step takes named values, as JSON.")
        if name not in FREE:
            self._check_idle()
        if name != "tune":
            return JSONResponse(await run_in_threadpool(self._do, name, given))
        self.progress = {"state": "running", "doing": "reading", "done": 0, "of": 1}
        try:
            return JSONResponse(await run_in_threadpool(self._do, name, given))
        finally:
            self.progress = {"state": "idle"}

    def _check_idle(self) -> None:
        if self.progress["state"] == "running":
            raise Refusal(409, "A list is being tuned. Wait, or stop it.")

    def _do(self, name: str, given: dict[str, Any]) -> Any:
        """A step, one at a time."""
        if name in FREE:
            return ACTIONS[name](self, **given)
        with self._busy:
            return ACTIONS[name](self, **given)

    async def _file(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response

        what = request.path_params["what"]
        write = views.archive if what == "all" else lambda own: views.file_of(own, what)
        name, content = await run_in_threadpool(write, self.session)
        from urllib.parse import quote

        kept = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return Response(content, media_type="application/octet-stream", headers=kept)

    # ---------------------------------------------------------------------------------------------------------- steps

    def tune(self) -> dict[str, Any]:
        """Tune, and say how far it is to whoever asks meanwhile."""

        def tell(told: dict[str, Any]) -> None:
            if "doing" in told:
                self.progress = {"state": "running", **told}

        self.session.tune(tell)
        return self.rules()

    def rules(self) -> dict[str, Any]:
        """The list, and the front of lengths that it is one of."""
        return {"list": views.listing(self.session), "front": views.front(self.session)}

    def edit(self, method: str, **given: Any) -> dict[str, Any]:
        """Change the list."""
        if method not in ("length", "remove", "add", "undo", "costs"):
            raise Refusal(400, f"There is no edit '{method}'.")
        getattr(self.session, method)(**given)
        return views.listing(self.session)

    def state(self) -> dict[str, Any]:
        """Where the session stands, for a page that is opened again."""
        own = self.session
        return {
            "table": None if own.table is None else own.understood(),
            "targets": [] if own.table is None else own.targets(),
            "aim": None if own.plan is None else own.aimed(),
            "learned": own.learned is not None,
            "most": MOST_BYTES,
        }


def _other_method(request: Request, error: Exception) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": "The workbench takes GET and POST only, each at its own addresses."}, 405, HEADERS)


def _of(step: Callable[..., Any]) -> Callable[..., Any]:
    return lambda page, **given: step(page.session, **given)


def _stop(page: Page) -> dict[str, Any]:
    page.session.stop()
    return {"stopped": True}


def _column(session: Session, name: str, use: str) -> dict[str, Any]:
    return {"table": session.column(name, use), "targets": session.targets()}


def _sign(session: Session, by: str, key: str, note: str = "") -> dict[str, Any]:
    return views.signed(session, by, key.encode(), note)


ACTIONS: dict[str, Callable[..., Any]] = {
    "state": Page.state,
    "tune": Page.tune,
    "rules": Page.rules,
    "edit": Page.edit,
    "stop": _stop,
    "progress": lambda page: page.progress,
    "column": _of(_column),
    "aim": _of(Session.aim),
    "constrain": _of(Session.constrain),
    "check": _of(Session.check_rule),
    "rows": _of(views.some_rows),
    "row": _of(views.explained),
    "change": _of(views.changed),
    "grouping": _of(lambda session: {"columns": views.group_columns(session)}),
    "groups": _of(views.groups),
    "keep": _of(lambda session, name: {"kept": session.keep(name)}),
    "compare": _of(views.compared),
    "key": lambda page: {"key": views.new_key().decode()},
    "sign": _of(_sign),
    "offered": _of(lambda session: {"files": views.offered(session), "signed": session.signed is not None}),
}
FREE = ("progress", "stop", "state", "check", "key")  # steps that need not wait for others


def _asset(path: str) -> str:
    package, folder = ("pysirus.report", path) if path in ASSETS["report"] else ("pysirus.workbench", f"page/{path}")
    return files(package).joinpath(folder).read_text(encoding="utf-8")


def free_port(port: int = 0) -> socket.socket:
    """A socket on loopback: at a port that is asked for, or at any."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind(("127.0.0.1", port))
        own.listen(64)  # a browser that is quicker than the server waits
    except OSError as error:
        own.close()
        raise OSError(f"Port {port} cannot be used: {error.strerror}. Give another one, or none.") from error
    return own


def serve(session: Session, *, port: int = 0, browser: bool = True, tell: Callable[[str], None] = print) -> None:
    """Answer until Ctrl-C; ``tell`` is told the address."""
    try:
        import uvicorn
    except ImportError as error:
        raise ImportError(MISSING) from error
    listening = free_port(port)
    page = Page(session, listening.getsockname()[1])

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: Any) -> None:
            """End at once: uvicorn would wait for answers, and Python for threads, whose results nobody reads."""
            session.close()
            listening.close()
            os._exit(128 + sig)

    server = Server(uvicorn.Config(page.app, log_level="critical", access_log=False, lifespan="off"))
    tell(page.url)
    if browser:
        threading.Timer(0.5, webbrowser.open, [page.url]).start()
    try:
        with contextlib.suppress(asyncio.CancelledError):
            server.run(sockets=[listening])
    finally:
        session.close()
        listening.close()
