"""Columns of a CSV file as text in, as a model knows them out: what a text stands for depends on no other row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pysirus._data.column import label_column
from pysirus._data.marks import POINT, Texts, read_numbers
from pysirus._data.recipe import wrong_form
from pysirus._data.written import NumberForm

# what pyarrow takes for true and false
_TRUE, _FALSE = ("1", "true", "True", "TRUE"), ("0", "false", "False", "FALSE")
_TRUTH = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)


@dataclass(frozen=True)
class KnownColumn:
    """What a model knows of a column of text files; by default that it is text, or is read from it later."""

    form: NumberForm | None = None  # of numbers, how they were written in training
    levels: tuple[Any, ...] = ()  # of labels that are numbers or true and false
    needed: bool = True  # or what cannot be read is missing

    @property
    def type(self) -> pa.DataType:
        """The type of its values."""
        return pa.string() if self.form is None or self.levels else pa.float64()

    def read(self, name: str, texts: Texts) -> Texts:
        """The values of some texts."""
        if self.levels:
            return _labels(texts, self.levels, self.form or POINT)
        if self.form is None:
            return texts
        numbers, odd = read_numbers(texts, self.form)
        if odd and self.needed:
            raise wrong_form(name, self.form, odd[0])
        return numbers


def _labels(texts: Texts, levels: tuple[Any, ...], form: NumberForm) -> Texts:
    """Texts in the words of their levels: 3.0 is the level 3, and 1 is True."""
    column = label_column("", texts)
    if isinstance(levels[0], bool):
        said = [str(_TRUTH.get(text.strip(), text)) for text in column.levels]
    else:
        known = {str(level) for level in levels}
        by_value = {float(level): str(level) for level in levels}
        values = read_numbers(pa.array(column.levels, pa.string()), form)[0].to_pylist()
        said = [t if t in known else by_value.get(value, t) for t, value in zip(column.levels, values)]
    indices = pa.array(column.values, pa.int64(), mask=column.values < 0)
    return pc.take(pa.array(said, pa.string()), indices)
