"""Tables for people: hostile names and levels come out as text in the program that shows them."""

import html
import re
import shutil
import subprocess

import pytest

from hostile import CLASSES, COLOUR, LEVELS, MARKUP, SCORED, make_model
from pysirus.export.lists import escape_latex, escape_markdown
from sampled import few

KINDS = ["regression", "classes", "weighted mean", *SCORED]


def rule_texts(kind):
    rules = make_model(kind).model_.rules
    return [rule.condition_text if rule.conditions else rules.rule_text(rule, named=False) for rule in rules]


@pytest.mark.parametrize("kind", KINDS)
def test_markdown_shows_rules_as_they_are(kind):
    parser = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    page = parser.render(make_model(kind).export("markdown"))
    assert "<script" not in page and "<img" not in page and "<a " not in page and "<i>" not in page
    cells = [html.unescape(re.sub(r"</?(strong|td|tr|tbody|table)[^>]*>", "", cell)) for cell in page.split("</td>")]
    for text in rule_texts(kind):
        assert any(text in cell for cell in cells), text


@pytest.mark.parametrize(
    "text", [*LEVELS, MARKUP, COLOUR, *CLASSES, "a_b_c", "~~x~~", "[a](b)", "# no", "a|b", "http://x.y"]
)
def test_markdown_escape_is_undone_by_a_reader(text):
    parser = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    page = parser.render(f"mean {escape_markdown(text)}")
    assert html.unescape(re.sub(r"</?p>", "", page)).strip().replace("\u200b", "") == f"mean {text}"


LATEX = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{array,booktabs,textcomp}
\begin{document}
%s
\end{document}
"""


def typeset(content, folder):
    """Run LaTeX; what it printed, as text."""
    if shutil.which("pdflatex") is None:
        pytest.skip("LaTeX tables are checked by pdflatex, which is not installed (texlive-latex-base)")
    (folder / "table.tex").write_text(LATEX % content, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "table.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-800:]
    return folder / "table.pdf"


@pytest.mark.parametrize("kind", few(KINDS))
def test_latex_table_compiles(kind, tmp_path):
    # the fonts of plain LaTeX have no Greek; everything else stays
    table = make_model(kind).export("latex").replace("μ", "u")
    assert r"\toprule" in table and r"\bottomrule" in table
    assert typeset(table, tmp_path).stat().st_size > 1000


def test_latex_reads_no_file_and_prints_commands_as_text(tmp_path):
    text = r"\input{secret} \def\x{1} $x^2$ 100% {a_b} ~#&| -- \\"
    (tmp_path / "secret.tex").write_text("SECRET", encoding="utf-8")
    pdf = typeset(escape_latex(text), tmp_path)
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("what LaTeX printed is read by pdftotext, which is not installed (poppler-utils)")
    printed = subprocess.run([reader, str(pdf), "-"], capture_output=True, check=True).stdout.decode()
    assert "SECRET" not in printed
    assert re.sub(r"\s", "", text) in re.sub(r"\s", "", printed)


def test_latex_is_the_table_of_the_paper(ozone):
    import pysirus

    model = pysirus.SirusRegressor(n_rules=3, random_state=0).fit(*ozone)
    lines = model.export("latex", caption="Ozone", label="tab:ozone").splitlines()
    assert r"    \# & Frequency & Rule & Weight & Rows \\" in lines
    assert any(line.strip().startswith(r"1 & 0.28 & \textbf{if} temp $< 66$ \textbf{then} $7.0$") for line in lines)
    assert r"  \caption{Ozone}" in lines and r"  \label{tab:ozone}" in lines


@pytest.mark.parametrize("kind", ["slopes", "sloped scores", "sloped counts", "sloped survival"])
def test_every_row_has_a_cell_for_each_column_also_where_a_slope_is(kind):
    model = make_model(kind)
    assert any(term.kind == "Slope" for term in model.rules_)
    rows = [row for row in model.export("html").split("<tr>")[1:] if "colspan" not in row]
    assert {row.count("</td>") + row.count("</th>") for row in rows} == {rows[0].count("</th>")}
    lines = [line.replace(r"\&", "") for line in model.export("latex").splitlines()]
    cells = {line.count(" & ") for line in lines if re.match(r" +(\\#|\d+) & ", line)}
    assert len(cells) == 1 and not any(re.search(r"\{-\}\d", line) for line in lines if " per " in line)
