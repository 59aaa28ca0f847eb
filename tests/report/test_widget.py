"""The editor in a cell of a notebook: what is edited there is read back in Python, and names are text."""

import json
import sys

import numpy as np
import pytest
from test_report_edit import NODE, refit, scored_model, some_model, whole_list

from hostile import CLASSES, make_model, make_table
from pysirus import SirusRegressor, SirusSurvival
from pysirus._model.file import ModelFileError
from pysirus._parameters import ParameterError
from pysirus.estimators.rule_model import RuleModel
from pysirus.report import _editing

pytest.importorskip("anywidget", reason="pip install pysirus[widget]")
pytestmark = pytest.mark.filterwarnings("ignore")

# what a notebook does for an anywidget: a model with get, set, save_changes and on, and a place in a cell
HOST = """async ([code, state]) => {
  window.sent = {};
  const listeners = {}, given = { ...state };
  window.notebook = {
    get: (name) => given[name],
    set: (name, value) => { given[name] = value; window.sent[name] = value; },
    save_changes: () => { window.saved = (window.saved || 0) + 1; },
    on: (name, own) => { listeners[name] = own; }, off: (name) => { delete listeners[name]; },
  };
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const { default: widget } = await import(address);
  const cell = document.createElement("div");
  cell.className = "cell";
  document.body.append(cell);
  window.remove = widget.render({ model: window.notebook, el: cell });
}"""


@pytest.fixture
def in_cell(blank_tab):
    """Show a widget, and hand over what was done in the cell, as a notebook does."""
    complaints = []
    blank_tab.on("pageerror", lambda error: complaints.append(str(error)))
    blank_tab.on("dialog", lambda dialog: complaints.append(dialog.message))

    class Cell:
        page = blank_tab

        @staticmethod
        def show(widget):
            names = ("_style", "_document", "_patterns", "language", "state", "file", "decisions")
            state = {name: own for name, own in widget.get_state().items() if name in names}
            blank_tab.goto("about:blank")
            blank_tab.evaluate(HOST, [widget._esm, json.loads(json.dumps(state))])

        @staticmethod
        def read(widget, wait=True):
            if wait:
                blank_tab.wait_for_function("window.saved > 0")
            widget.set_state(blank_tab.evaluate("window.saved = 0, window.sent"))

    yield Cell
    assert complaints == []


def test_list_that_is_edited_in_a_cell_is_read_back(in_cell):
    model = RuleModel.of(some_model(2)[0])
    widget = model.widget()
    assert widget.model is model and not widget.file and not widget.decisions
    in_cell.show(widget)
    assert in_cell.page.evaluate("Object.keys(window.sent).length") == 0
    in_cell.page.locator(".edit-by").fill("A. Smith")
    in_cell.page.locator(".edit-note").fill("not allowed")
    in_cell.page.locator(".edit-list input[type=checkbox]").nth(0).click()
    in_cell.page.wait_for_function("(window.sent.file || '').length > 0")
    in_cell.read(widget)
    gone = model.selected[0]
    assert list(widget.model.selected) == list(model.without(gone).selected)
    entry = widget.model.facts.edits[-1]
    assert (entry["removed"], entry["by"], entry["note"]) == ([gone.condition_text], "A. Smith", "not allowed")
    assert f"- {gone.condition_text}" in widget.decisions and "A. Smith" in widget.decisions
    in_cell.page.locator(".edit-undo").click()
    in_cell.page.wait_for_function("window.sent.file === ''")
    in_cell.read(widget)
    assert widget.model is model


def test_cell_that_is_shown_again_has_the_edits(in_cell):
    model = RuleModel.of(some_model(0)[0])
    widget = model.widget(language="de")
    in_cell.show(widget)
    in_cell.page.locator(".edit-list input[type=checkbox]").nth(1).click()
    in_cell.page.wait_for_function("(window.sent.file || '').length > 0")
    in_cell.read(widget)
    in_cell.show(widget)
    assert not in_cell.page.locator(".edit-list input[type=checkbox]").nth(1).is_checked()
    assert "Entfernt: 1" in in_cell.page.locator(".edit-sentence").inner_text()
    in_cell.page.evaluate("remove()")


@pytest.mark.skipif(NODE is None, reason="the models are those of the tests in node")
@pytest.mark.parametrize("seed", [1, 6])
def test_classes_and_counts_are_edited_from_rows(in_cell, seed):
    model, (X, y, weight) = scored_model(seed)
    model = RuleModel.of(model)
    widget = model.widget(X, y, weight)
    in_cell.show(widget)
    in_cell.page.locator(".edit-length").fill("3")
    in_cell.page.wait_for_function("(window.sent.file || '').length > 0")
    in_cell.read(widget)
    scores = [model.scores(X), widget.model.scores(X)]
    assert len(widget.model.selected) == 3 and not np.allclose(*scores)


def test_lengths_in_a_cell_are_those_of_python(in_cell):
    model, X = some_model(0)
    widget = RuleModel.of(model).widget()
    in_cell.show(widget)
    in_cell.page.locator(".edit-length").fill("2")
    in_cell.page.wait_for_function("(window.sent.file || '').length > 0")
    in_cell.read(widget)
    np.testing.assert_allclose(widget.model.predict(X), refit(whole_list(model), [0, 1]).predict(X), rtol=1e-9)


@pytest.mark.parametrize("kind", ["regression", "stages", "slopes", "two scores", "four scores", "counts"])
def test_hostile_names_are_text_in_a_cell(in_cell, kind):
    X, y = make_table(600, seed=0)
    sloped = SirusRegressor(n_rules=2, n_stages=9, slopes=True, n_trees=200, random_state=0)
    model = RuleModel.of((sloped.fit(X, y) if kind == "slopes" else make_model(kind)).model_)
    labels = model.classes and np.array([*CLASSES, "no"], dtype=object)[: len(model.classes)]
    cuts = np.quantile(y, np.arange(1, len(labels)) / len(labels)) if model.classes else []
    target = {"counts": np.floor(np.abs(y))}.get(kind, y) if labels is None else labels[np.digitize(y, cuts)]
    widget = model.widget(X, target)
    in_cell.show(widget)
    in_cell.page.locator(".edit-by").fill("<img src=x onerror=window.hacked=1>")
    in_cell.page.locator(".edit-list input[type=checkbox]").nth(0).click()
    in_cell.page.wait_for_function("(window.sent.file || '').length > 0")
    in_cell.read(widget)
    assert in_cell.page.evaluate("[window.hacked, window.owned]") == [None, None]
    assert in_cell.page.locator(".cell img, .cell script").count() == 0
    assert "<img" in widget.model.facts.edits[-1]["by"]


def test_style_of_the_cell_follows_the_notebook(in_cell):
    in_cell.show(RuleModel.of(some_model(0)[0]).widget())
    colour = "getComputedStyle(document.querySelector('.cell > div').shadowRoot.querySelector('h2')).color"
    light = in_cell.page.evaluate(f"(document.body.dataset.jpThemeLight = 'true', {colour})")
    in_cell.page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    in_cell.page.wait_for_function("document.querySelector('.cell > div').dataset.theme === 'dark'")
    assert in_cell.page.evaluate(colour) != light
    own = in_cell.page.evaluate("getComputedStyle(document.body).fontFamily")
    assert own.strip('"').startswith("Times")  # the notebook's is left alone


def test_what_a_page_sends_is_checked_as_a_model_file_is():
    widget = RuleModel.of(some_model(0)[0]).widget()
    for text in ("{}", "[1]", "nonsense", '{"format": "pysirus", "version": 4}'):
        widget.set_state({"file": text})
        with pytest.raises(ModelFileError, match="no model file"):
            _ = widget.model


def test_widgets_that_cannot_be_say_why(monkeypatch):
    model, (X, y, _) = scored_model(0)
    with pytest.raises(ParameterError, match="training rows"):
        RuleModel.of(model).widget()
    with pytest.raises(ParameterError, match="language must be one of en, de"):
        RuleModel.of(model).widget(X, y, language="fr")
    few, target = make_table(120, seed=0)
    times = np.column_stack([np.ones(len(target)), np.exp(target / 10)])
    lived = SirusSurvival(n_rules=3, n_trees=30, random_state=0).fit(few, times)
    with pytest.raises(ParameterError, match="workbench"):
        lived.widget(few, times)
    _editing._kind.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match=r"pip install pysirus\[widget\]"):
        RuleModel.of(some_model(0)[0]).widget()
    _editing._kind.cache_clear()
