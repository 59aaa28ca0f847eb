"""The components of the page, each by itself, in Node without a browser: ``components.test.js``."""

import shutil
import subprocess
from pathlib import Path

import pytest

import pysirus

NODE = shutil.which("node")
HERE, OWN = Path(__file__).parent, Path(pysirus.__file__).parent


@pytest.mark.skipif(NODE is None, reason="there is no node here")
def test_components_do_what_they_say(tmp_path):
    for path in (*(OWN / "workbench/page").glob("*.js"), *(OWN / "report").glob("*.js"), *HERE.glob("*.js")):
        shutil.copy(path, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    ran = subprocess.run([NODE, "--test"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert "# fail 0" in ran.stdout and "# pass 0" not in ran.stdout
