"""Files are written as a whole, where the name leads, and never over something that is needed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import pysirus
from pysirus._runtime.output import check_output, write_bytes, write_text, writing
from pysirus.datasets import load_ozone


@pytest.fixture(scope="module")
def model():
    X, y = load_ozone(return_X_y=True, as_frame=True)
    return pysirus.SirusRegressor(n_rules=3, n_trees=100, random_state=0).fit(X, y)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_write_makes_a_file_as_the_umask_says(tmp_path: Path) -> None:
    script = f"""import os; os.umask(0o027)
from pysirus._runtime.output import write_text; write_text({str(tmp_path / "new")!r}, "a")"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert mode(tmp_path / "new") == 0o640


@pytest.mark.parametrize("kept", [0o600, 0o664, 0o755])
def test_write_keeps_the_mode_of_a_file(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(kept)
    write_text(path, "new")
    assert (path.read_text(), mode(path), names_in(tmp_path)) == ("new", kept, ["f"])


def test_write_leaves_the_umask_alone_in_every_thread(tmp_path: Path) -> None:
    """The umask belongs to the process: a file that another thread makes meanwhile must not be open to all."""
    done, found = threading.Event(), set()

    def make() -> None:
        n = 0
        while not done.is_set():
            path = tmp_path / f"other{threading.get_ident()}-{n % 50}"
            path.unlink(missing_ok=True)
            path.touch()
            found.add(mode(path))
            n += 1

    before = os.umask(0o077)
    try:
        threads = [threading.Thread(target=make) for _ in range(2)]
        for thread in threads:
            thread.start()
        for i in range(400):
            write_text(tmp_path / f"mine{i % 20}", "x")
        done.set()
        for thread in threads:
            thread.join()
    finally:
        os.umask(before)
    assert found == {0o600} and mode(tmp_path / "mine3") == 0o600


@pytest.mark.parametrize("absolute", [True, False])
def test_write_follows_links(tmp_path: Path, absolute: bool) -> None:
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
    file, link, chain = tmp_path / "there" / "f", tmp_path / "here" / "link", tmp_path / "chain"
    link.symlink_to(file if absolute else "../there/f")
    chain.symlink_to(link)
    write_text(chain, "new")  # the file is not there yet
    assert chain.is_symlink() and link.is_symlink() and file.read_text() == "new"
    file.chmod(0o600)
    write_text(link, "newer")
    assert link.is_symlink() and file.read_text() == "newer" and mode(file) == 0o600
    assert names_in(tmp_path / "there") == ["f"] and names_in(tmp_path / "here") == ["link"]


def test_write_refuses_links_in_a_circle_and_links_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match=r"a'"):
        write_text(tmp_path / "a", "x")
    (tmp_path / "c").symlink_to("no/folder/f")
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_text(tmp_path / "c", "x")


def test_write_to_a_pipe_is_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with (tmp_path / "read").open("wb") as read, subprocess.Popen(["cat", str(path)], stdout=read):
        write_bytes(path, b"x" * 200_000)
    assert (tmp_path / "read").read_bytes() == b"x" * 200_000 and stat.S_ISFIFO(path.stat().st_mode)


def test_write_to_a_device_is_a_stream(tmp_path: Path) -> None:
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write_text("/dev/full", "x")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_write_to_standard_output_adds_to_what_is_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    (tmp_path / "log").write_text("before\n")
    script = (
        f"from pysirus._runtime.output import write_text; print('first'); "
        f"write_text({name!r}, 'second\\n'); print('third')"
    )
    with (tmp_path / "log").open("a") as log:
        subprocess.run([sys.executable, "-c", script], stdout=log, check=True, cwd=tmp_path)
    assert (tmp_path / "log").read_text() == "before\nfirst\nsecond\nthird\n"
    assert names_in(tmp_path) == ["link", "log"]
    with pytest.raises(OSError, match="/dev/fd/987"):
        write_text("/dev/fd/987", "x")


def test_write_takes_the_longest_names(tmp_path: Path) -> None:
    write_text(tmp_path / ("n" * 255), "x")
    assert names_in(tmp_path) == ["n" * 255]


def test_writing_leaves_the_old_file_when_the_work_fails(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), writing(path) as file:
        file.write(b"half")
        _ = 1 / 0
    assert path.read_text() == "old" and names_in(tmp_path) == ["f"]


def test_write_in_place_where_a_file_cannot_be_moved(tmp_path: Path) -> None:
    """A file that is mounted by itself, as containers do, can be written but not replaced."""
    (tmp_path / "outside").write_text("a longer old text")
    (tmp_path / "f").write_text("")
    script = "import sys; from pysirus._runtime.output import write_text; write_text(sys.argv[1], 'new')"
    command = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$2"'
    arguments = [tmp_path / "outside", tmp_path / "f", sys.executable, script]
    try:
        done = subprocess.run(["unshare", "-rm", "sh", "-c", command, "sh", *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outside").read_text() == "new"
    assert names_in(tmp_path) == ["f", "outside"]


def test_check_names_what_stands_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*no' to write 'f' into\."):
        check_output(tmp_path / "no" / "f")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Give the name of a file"):
        check_output(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"'.*file' is not a folder"):
        check_output(tmp_path / "file" / "f")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to become")
def test_check_sees_what_may_not_be_written(tmp_path: Path) -> None:
    """Root may write everything: ask as somebody else."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "f").touch(0o444)
        pid = os.fork()
        if pid == 0:  # the child tells what it found by its status
            found = []
            try:
                os.setuid(65534)
                for path, text in ((folder / "new", "The folder"), (folder / "f", "read-only")):
                    try:
                        check_output(path)
                    except PermissionError as error:
                        found.append(text in str(error))
            finally:
                os._exit(0 if found == [True, True] else 1)
        assert os.waitpid(pid, 0)[1] == 0


def links_to(path: Path, folder: Path) -> list[str]:
    """Names of one file: as such, through a link, a hard link, a folder that is linked, and relative."""
    (folder / "link").symlink_to(path)
    os.link(path, folder / "hard")
    (folder / "linked").symlink_to(path.parent, target_is_directory=True)
    names = [path, folder / "link", folder / "hard", folder / "linked" / path.name]
    return [*map(str, names), os.path.relpath(path), f"{path.parent}/../{path.parent.name}/{path.name}"]


def test_check_refuses_inputs_by_every_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "names").mkdir()
    path = tmp_path / "data" / "d.csv"
    path.write_text("a\n1\n")
    for name in links_to(path, tmp_path / "names"):
        with pytest.raises(FileExistsError, match="is an input"):
            check_output(name, inputs=[tmp_path / "absent", path])
        with pytest.raises(FileExistsError, match="is an input"):
            check_output(path, inputs=[name])
    check_output(tmp_path / "data" / "new.csv", inputs=[path])


def test_save_does_not_replace_the_rows_that_were_learned_from(tmp_path: Path, model) -> None:
    path = tmp_path / "d.parquet"
    pa.parquet.write_table(pa.table({"x": range(40), "y": [i // 20 for i in range(40)]}), path)
    before = path.read_bytes()
    learned = pysirus.SirusRegressor(n_rules=2, n_trees=50).fit_files(path, "y")
    writers = [learned.save, learned.model_.save, learned.report]
    writers += [partial(learned.export, format) for format in ("sql", "json")]
    for name in links_to(path, tmp_path):
        for write in writers:
            with pytest.raises(FileExistsError, match="is a Parquet file"):
                write(name)
    assert path.read_bytes() == before


def test_export_and_report_do_not_replace_a_model(tmp_path: Path, model) -> None:
    path = tmp_path / "m.json"
    model.save(path)
    before = path.read_bytes()
    loaded = pysirus.load(path)
    for name in links_to(path, tmp_path):
        for format in ("sql", "excel", "python", "onnx"):
            with pytest.raises(FileExistsError, match="is a model file"):
                loaded.export(format, name)
        with pytest.raises(FileExistsError, match="is a model file"):
            loaded.report(name)
    assert path.read_bytes() == before
    loaded.export("json", path)  # a model for a model
    loaded.without(1).save(path)
    assert path.read_bytes() != before and len(pysirus.load(path).rules) == len(model.rules_) - 1
    (tmp_path / "r.html").write_text("<p>an older report</p>")
    loaded.report(tmp_path / "r.html")


def test_export_and_report_look_at_the_folder_before_the_work(tmp_path: Path, model, monkeypatch) -> None:
    import pysirus.export.excel
    import pysirus.report as report

    def work(*_: object, **__: object) -> None:
        raise AssertionError("worked first")

    monkeypatch.setattr(report, "summary", work)
    monkeypatch.setattr(pysirus.export.excel, "to_excel", lambda model, X=None: work())
    for write in (lambda path: model.report(path), lambda path: model.export("excel", path)):
        with pytest.raises(FileNotFoundError, match="no folder"):
            write(tmp_path / "no" / "f")


def test_files_are_on_the_disk_before_they_have_their_name(tmp_path: Path, monkeypatch) -> None:
    import os
    import stat

    from pysirus._runtime import output as _output

    done = []
    sync, move = os.fsync, _output._move

    def fsync(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else f"{os.fstat(descriptor).st_size} bytes")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(_output, "_move", lambda *places: (done.append("name"), move(*places)))
    _output.write_text(tmp_path / "a.txt", "four")
    with _output.streaming(tmp_path / "b.txt") as file:
        file.write(b"123456")
    assert done == ["4 bytes", "name", "folder", "6 bytes", "name", "folder"]


def test_models_replace_models_and_documents_no_tables(tmp_path: Path, model) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("a,b\n1,2\n")
    for write in (
        model.save,
        model.report,
        lambda path: model.export("sql", path),
        lambda path: model.export("json", path),
    ):
        with pytest.raises(FileExistsError, match="is a table, and writing there would destroy it"):
            write(table)
    other = tmp_path / "other.json"
    other.write_text('{"rows": 3}')
    with pytest.raises(FileExistsError, match="is no model file, and writing there"):
        model.save(other)
    assert table.read_text() == "a,b\n1,2\n" and other.read_text() == '{"rows": 3}'
    (tmp_path / "empty.json").touch()
    for name in ("new.json", "new.json", "empty.json"):
        model.save(tmp_path / name)


def test_commands_do_not_replace_tables(run, tmp_path: Path, model) -> None:
    path, rows = tmp_path / "m.json", tmp_path / "rows.csv"
    model.save(path)
    rows.write_text("a,b\n1,2\n")
    for command in (
        ["fit", "ozone", "--rules", 2, "--trees", 20, "--model", rows],
        ["tune", "ozone", "--trees", 20, "--model", rows],
        ["edit", path, "--without", 1, "-o", rows],
        ["report", path, "-o", rows],
        ["export", path, "--to", "sql", "-o", rows],
        ["predict", path, "ozone", "-o", rows],
    ):
        code, _, err = run(*command)
        assert code == 2 and "would destroy it" in err and str(rows) in err.replace("\n", ""), command
    assert rows.read_text() == "a,b\n1,2\n"
