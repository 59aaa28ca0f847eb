"""Files in stores: learned from and predicted as those of this machine, through a server that speaks S3 and fsspec."""

import os
import urllib.request

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import pysirus
from parts import assert_equal_models, make_frame
from pysirus import DataError
from pysirus._data import elsewhere
from pysirus._data.elsewhere import Remote, find_remote, is_remote, remote_output
from pysirus.engine.backends.files import FileRows
from sampled import CLUSTERS

OPTIONS = {"n_trees": 60, "random_state": 2, "n_rules": 6}
ADDRESS = "s3://rows/some"


@pytest.fixture(scope="module")
def table():
    frame, y, _ = make_frame(300)
    return pa.Table.from_pandas(frame[["wide", "holes", "colour"]].assign(y=y), preserve_index=False)


@pytest.fixture(scope="module")
def expected(table):
    X = table.drop_columns(["y"]).to_pandas()
    return pysirus.SirusRegressor(**OPTIONS).fit(X, pd.Series(table["y"].to_numpy(), name="y"))


@pytest.fixture(scope="module")
def server():
    """A server of moto on loopback, which checks no rights."""
    if not CLUSTERS:
        pytest.skip("a store takes half a minute: make clusters")
    moto = pytest.importorskip("moto.server", reason="moto is not installed: pip install 'moto[server,s3]'")
    import logging

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    yield "http://{}:{}".format(*running.get_host_and_port())
    running.stop()


@pytest.fixture
def s3(server, table, monkeypatch):
    """The store as environment variables name it, with the rows in three files of a folder."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    names = {"AWS_ENDPOINT_URL": server, "AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true"}
    for name, value in {**names, "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "secret"}.items():
        monkeypatch.setenv(name, value)
    elsewhere._s3.cache_clear()
    host = server.removeprefix("http://")
    system = fs.S3FileSystem(endpoint_override=host, scheme="http", allow_bucket_creation=True)
    system.create_dir("rows")
    for i in range(3):
        write(system, f"rows/some/{i}.parquet", table[i * 100 : (i + 1) * 100])
    yield system
    system.delete_dir_contents("rows")


def write(system, key, table):
    with system.open_output_stream(key) as file:
        pq.write_table(table, file)


def read(system, key):
    with system.open_input_file(key) as file:
        return pq.read_table(file)


@pytest.mark.parametrize("address", [f"{ADDRESS}/*.parquet", ADDRESS, "s3://rows/**/[0-2].parquet", f"{ADDRESS}/"])
def test_files_of_a_store_give_the_model_of_memory(s3, expected, address):
    assert_equal_models(pysirus.SirusRegressor(**OPTIONS).fit_files(address, "y").model_, expected.model_)


def test_large_row_groups_are_read_in_pieces_and_csv_too(s3, table, expected, monkeypatch):
    monkeypatch.setattr("pysirus.engine.backends.parquet.AT_ONCE", 0)
    files = [f"{ADDRESS}/{i}.parquet" for i in range(3)]
    assert_equal_models(pysirus.SirusRegressor(**OPTIONS).fit_files(files, "y").model_, expected.model_)
    with s3.open_output_stream("rows/text/all.csv.gz", compression="gzip") as file:
        file.write(table.to_pandas().to_csv(index=False).encode())
    found = pysirus.SirusRegressor(**OPTIONS).fit_files("s3://rows/text/*.csv.gz", "y")
    assert_equal_models(found.model_, expected.model_)


def test_commands_read_from_a_store_and_write_to_it(s3, run, tmp_path, table, expected):
    model = tmp_path / "model.json"
    options = ["--rules", 6, "--trees", 60, "--seed", 2, "--model", model]
    code, out, err = run("fit", f"{ADDRESS}/*.parquet", "--target", "y", *options)
    assert code == 0, err
    assert_equal_models(pysirus.load(model).model_, expected.model_)
    predicted = expected.predict(table.drop_columns(["y"]))
    assert run("predict", model, ADDRESS, "-o", "s3://rows/out", "--keep", "wide")[0] == 0
    parts = [read(s3, f"rows/out/{i}.parquet") for i in range(3)]
    assert np.array_equal(pa.concat_tables(parts)["prediction"], predicted)
    assert run("predict", model, f"{ADDRESS}/*.parquet", "-o", "s3://rows/all.parquet")[0] == 0
    assert np.array_equal(read(s3, "rows/all.parquet")["prediction"], predicted)
    pq.write_table(table, tmp_path / "new.parquet")
    assert run("predict", model, tmp_path / "new.parquet", "-o", "s3://rows/one.csv")[0] == 0
    lines = s3.open_input_file("rows/one.csv").read().decode().split()
    assert lines[0] == "prediction" and [float(line) for line in lines[1:]] == predicted.tolist()
    assert run("predict", model, ADDRESS, "-o", tmp_path / "here.parquet")[0] == 0
    assert np.array_equal(pq.read_table(tmp_path / "here.parquet")["prediction"], predicted)
    code, out, err = run("score", model, ADDRESS)
    assert code == 0 and "R²" in out
    code, _, err = run("predict", model, ADDRESS, "-o", "s3://nobody/out")
    assert code != 0 and "bucket that does not exist" in err


@pytest.mark.parametrize("change", ["content", "size", "gone"])
def test_a_file_that_changes_in_the_store_is_named(s3, table, monkeypatch, change):
    ask = FileRows.map_reduce_response

    def then_change(self, query):
        answer = ask(self, query)
        if change == "gone":
            s3.delete_file("rows/some/1.parquet")
        else:
            write(s3, "rows/some/1.parquet", table[150:250] if change == "content" else table[:7])
        return answer

    monkeypatch.setattr(FileRows, "map_reduce_response", then_change)
    said = "cannot be read any more" if change == "gone" else "changed while the model was learned"
    with pytest.raises(DataError, match=rf"'s3://rows/some/1\.parquet' {said}"):
        pysirus.SirusRegressor(**OPTIONS).fit_files(f"{ADDRESS}/*.parquet", "y")


def test_what_a_store_refuses_is_said(s3, server, monkeypatch):
    model = pysirus.SirusRegressor(**OPTIONS)
    with pytest.raises(DataError, match=r"'s3://nobody/x/\*\.parquet' is in a bucket that does not exist"):
        model.fit_files("s3://nobody/x/*.parquet", "y")
    with pytest.raises(DataError, match=r"No Parquet or CSV file matches 's3://rows/none/\*\.parquet'"):
        model.fit_files("s3://rows/none/*.parquet", "y")
    with pytest.raises(DataError, match=r"No Parquet or CSV file matches 's3://rows/none\.parquet'"):
        model.fit_files("s3://rows/none.parquet", "y")
    with pytest.raises(DataError, match="names no bucket"):
        model.fit_files("s3://", "y")
    authorize(server, 0)  # from now on rights are checked, and nobody has any
    try:
        with pytest.raises(DataError, match=r"may not be opened with these credentials.*AWS_ACCESS_KEY_ID"):
            model.fit_files(f"{ADDRESS}/*.parquet", "y")
    finally:
        authorize(server, 10**9)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"the store cannot be reached.*AWS_ENDPOINT_URL"):
        model.fit_files(f"{ADDRESS}/*.parquet", "y")


def authorize(server, after):
    """Check rights after so many requests."""
    plain = {"Content-Type": "text/plain"}
    request = urllib.request.Request(f"{server}/moto-api/reset-auth", data=str(after).encode(), headers=plain)
    urllib.request.urlopen(request).read()


# ----------------------------------------------------------------------------------------------------------- no server


def test_other_stores_are_read_through_fsspec(table, expected):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://rows/a.parquet", "wb") as file:
        pq.write_table(table, file)
    found = pysirus.SirusRegressor(**OPTIONS).fit_files("memory://rows/*.parquet", "y")
    assert_equal_models(found.model_, expected.model_)
    with pytest.raises(DataError, match="'nowhere://rows' cannot be opened"):
        pysirus.SirusRegressor().fit_files("nowhere://rows/a.parquet", "y")


def test_a_missing_package_is_named(monkeypatch):
    elsewhere._other.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(ImportError, match=r"adl:// is no store that pyarrow can open .*pip install fsspec"):
        pysirus.SirusRegressor().fit_files("adl://rows/a.parquet", "y")


def test_addresses_and_paths(tmp_path, monkeypatch):
    assert is_remote("s3://a/b") and not is_remote("C://a") and not is_remote("/a/b") and not is_remote(tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    from pathlib import Path

    place = remote_output(Path("s3://a/b/out.parquet"))
    assert isinstance(place, Remote) and (str(place), place.key) == ("s3://a/b/out.parquet", "a/b/out.parquet")
    assert str(place / "x/y.parquet") == "s3://a/b/out.parquet/x/y.parquet" and place.suffix == ".parquet"
    assert remote_output(tmp_path / "out.parquet") is None


def test_patterns_match_part_by_part(monkeypatch):
    system = fs._MockFileSystem()
    for key in ("rows/a/1.parquet", "rows/a/2.csv", "rows/b/c/3.parquet", "rows/4.parquet"):
        system.create_dir(key.rpartition("/")[0])
        with system.open_output_stream(key) as file:
            file.write(b"x")
    monkeypatch.setattr(elsewhere, "remote", lambda address: Remote(address, address.removeprefix("s3://"), system))

    def keys(pattern):
        return [file.key for file in find_remote(f"s3://rows/{pattern}")]

    assert keys("*.parquet") == ["rows/4.parquet"]
    assert keys("*/*.parquet") == ["rows/a/1.parquet"]
    assert keys("**/*.parquet") == ["rows/4.parquet", "rows/a/1.parquet", "rows/b/c/3.parquet"]
    assert keys("[ab]/?.csv") == ["rows/a/2.csv"] and keys("b") == ["rows/b/c/3.parquet"] and keys("none") == []
