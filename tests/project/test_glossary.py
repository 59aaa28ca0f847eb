"""The glossary is kept: none of the words that it replaces is left in a text that a user can meet."""

from trust import words


def test_no_text_has_a_word_that_the_glossary_replaces_and_every_exception_is_needed():
    found, needed = words.search()
    assert [f"{own.place}: {own.word} -> {own.better}: {own.around}" for own in found] == []
    assert set(words.ALLOWED) - needed == set() and all(words.ALLOWED.values())


def test_words_are_found_in_texts_and_not_in_code(monkeypatch):
    monkeypatch.setattr(words, "_docs", lambda: iter([("x.md:1", "the dust of a card, `card`, and discard")]))
    assert [own.word for own in words.search(("docs",))[0]] == ["dust", "card"]
    line = "docs/tuning.md:1", "both figures"
    monkeypatch.setattr(words, "_docs", lambda: iter([line]))
    assert words.search(("docs",)) == ([], {("docs/tuning.md", "figures")})
