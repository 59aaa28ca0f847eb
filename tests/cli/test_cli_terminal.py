"""What is printed on a narrow terminal: lines that fit, broken between words."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import warm
from pysirus import SirusRegressorCV
from pysirus._runtime.console import wrapped


def in_terminal(command, columns):
    """What a command prints to a terminal of so many columns."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, columns))
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    output = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux's way to say that it is closed
            break
        if not part:
            break
        output += part
    os.close(ours)
    assert process.wait() == 0
    return re.sub("\x1b\\[[0-9;]*m", "", output.decode()).replace("\r\n", "\n")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="termios.tcsetwinsize is of Python 3.11")
def test_lines_break_between_words_where_the_terminal_ends(rng, tmp_path):
    X = pd.DataFrame(rng.random((120, 3)), columns=["petal width in inches", "age of the patient", "month"])
    y = 3 * (X.iloc[:, 0] > 0.5) + X.iloc[:, 1] + rng.normal(0, 0.1, 120)
    path = tmp_path / "model.json"
    SirusRegressorCV(n_trees=50, n_repeats=1, cv=3, max_rules=5, random_state=0).fit(X, y).save(path)
    command = [*warm.command(), "show", str(path)]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    words = set((piped.stdout + piped.stderr).split())
    shown = in_terminal(command, 60)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 60 < max(map(len, (piped.stdout + piped.stderr).splitlines()))
    spared = {"frequency", *(line.split()[1] for line in piped.stdout.splitlines()[3:] if line[:1].isdigit())}
    assert words - spared <= set(shown.split()) <= words  # no word is broken
    assert sum("Chosen because" in line for line in lines) == 1


def test_wrapped_lines_are_indented():
    text = "first line\n\n" + "word " * 8
    assert wrapped(text, 22) == "first line\n\nword word word word\n  word word word word"
    assert wrapped("a-very-long-word-that-cannot-be-broken", 20) == "a-very-long-word-that-cannot-be-broken"
    assert np.all([len(line) <= 40 for line in wrapped("ab " * 100, 40).splitlines()])
