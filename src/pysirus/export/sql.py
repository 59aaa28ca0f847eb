"""A model in, a SQL expression out: CASE WHEN for each rule, added up.

NULL is the missing value; so is NaN where the dialect has one. Numbers are doubles and are added in the order of the
model, so the prediction is the model's bit for bit, up to the number of addends that an engine takes in a row
(``Dialect.longest_sum``). Longer lists are added in groups of as many.

Where a dialect has no ``Dialect`` of its own, sqlglot spells the statement, and it is read back before it is handed on.
sqlglot escapes names and text as each dialect reads them. What it does not read back as it was meant is refused: such a
text could end early, and the engine would run the rest of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pysirus._model.model import Model
from pysirus._terms.term import columns_of
from pysirus._text.format import one_line
from pysirus._text.message import Parameter
from pysirus._use.verify import changed_literals
from pysirus.export._addends import pair_of
from pysirus.export._conditions import ExportError, check_labels, column_of, used_features
from pysirus.export._dialects import NAME_BYTES, NAME_ONE, PIVOT, POSTGRES, Dialect, dialect_named, folded
from pysirus.export._reasons import ReasonColumns, reason_columns, with_reason_columns
from pysirus.export._writer import Writer
from pysirus.export.lists import link_lines, rule_lines

# where a backslash is believed to be read as sqlglot writes it; no engine of these was at hand to try
BACKSLASH = {"bigquery", "clickhouse", "doris", "dune", "exasol", "fabric", "hive", "materialize", "oracle", "presto"}
BACKSLASH |= {"redshift", "risingwave", "snowflake", "starrocks", "teradata", "trino", "tsql"}
# where text is believed to compare exactly, unless a column or a database is told otherwise
EXACT = BACKSLASH - {"fabric", "tsql", "teradata"} | {"athena"}
NATIONAL = {"fabric", "tsql"}  # text beyond ASCII needs a prefix, or becomes question marks


def check_dialect(dialect: str) -> Any:
    """sqlglot, which knows the dialect."""
    try:
        import sqlglot
        from sqlglot.dialects.dialect import Dialect
    except ImportError as error:
        raise ImportError("SQL dialects need sqlglot: pip install pysirus[sql].") from error
    try:
        Dialect.get_or_raise(dialect)
    except ValueError as error:
        raise ExportError(f"dialect {dialect!r} is not one that sqlglot knows: {error}") from error
    return sqlglot


def _words(tree: Any, exp: Any) -> tuple[Counter[str], Counter[str]]:
    """The texts and the delimited names of a statement."""
    texts = Counter(literal.this for literal in tree.find_all(exp.Literal) if literal.is_string)
    texts += Counter(str(literal.this) for literal in tree.find_all(exp.National))
    return texts, Counter(name.this for name in tree.find_all(exp.Identifier) if name.quoted)


def _check_words(texts: Counter[str], names: Counter[str], dialect: str) -> None:
    """Reject what the engines of a dialect read in other ways than it is meant."""
    for text in [*texts, *names]:
        if "\\" in text and dialect not in BACKSLASH:
            raise ExportError(f"{text!r} holds a backslash, which {dialect} may take for an escape. Rename it.")
    if dialect == "oracle" and "" in texts:
        raise ExportError("The empty text is a category or a class label, and NULL in Oracle. Rename it.")


def may_fold_text(dialect: str) -> bool:
    """Whether an engine may take texts for equal that differ in case, accents or spaces at the end."""
    return dialect.split(",")[0].strip().lower() not in EXACT


def translate(statement: str, dialect: str) -> str:
    """Another dialect's spelling of a query."""
    sqlglot = check_dialect(dialect)
    exp, engine = sqlglot.exp, dialect.split(",")[0].strip().lower()
    tree = sqlglot.parse_one(statement, read="postgres")
    texts, names = _words(tree, exp)
    _check_words(texts, names, engine)

    def adapt(node: Any) -> Any:
        if engine in NATIONAL and isinstance(node, exp.Literal) and node.is_string and not node.this.isascii():
            return exp.National(this=node.this)
        if engine == "oracle" and isinstance(node, exp.DataType):  # its DOUBLE PRECISION counts in decimals
            return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind="BINARY_DOUBLE")
        return node

    text: str = tree.transform(adapt).sql(dialect=dialect, pretty=True)
    try:
        found_texts, found_names = _words(sqlglot.parse_one(text, read=dialect), exp)
    except sqlglot.errors.SqlglotError as error:
        raise ExportError(f"sqlglot cannot read back what it writes for the dialect {dialect!r}: {error}") from error
    for wrong in [*(texts - found_texts), *(found_texts - texts), *(names - found_names), *(found_names - names)]:
        raise ExportError(
            f"sqlglot does not read back {wrong!r} in the dialect {dialect!r}, so the engine may not either. Rename it."
        )
    return text


SOURCE, SCORED = "input", "scored"  # what tables are called inside a statement
PART = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`')
FROM = re.compile(rf'FROM ((?:"(?:[^"]|"")+"|`(?:[^`]|``)+`|\.)+) AS ["`]{SOURCE}["`]')
ANY = "some engines"


# --------------------------------------------------------------------------------------------------- what is refused


def _check_added(model: Model, added: list[str]) -> None:
    """Reject to add a column twice, or one that the table has: databases would read the wrong one, or none."""
    names = [column_of(model, index) for index in range(len(model.features))]
    taken = {name.casefold(): name for name in names}  # many do not tell case apart
    for name in added:
        if (old := taken.get(name.casefold())) is not None:
            raise ExportError(
                f"Column '{name}' would be added, and there is '{old}' already. Rename that one, name the prediction "
                "by the option prediction, or export without table and name the columns yourself."
            )
        taken[name.casefold()] = name


def _check_inputs(model: Model, dialect: Dialect, engine: str) -> None:
    """Reject columns that are one to the engine: a table there cannot have both."""
    seen: dict[str, str] = {}
    for index in used_features(model):
        name = column_of(model, index)
        if (old := seen.setdefault(dialect.fold(name), name)) != name:
            raise ExportError(f"Columns '{old}' and '{name}' may be one and the same in {engine}. Rename one of them.")


def _check_levels(model: Model, engine: str) -> None:
    """Reject levels that a collation may take for each other."""
    for index in columns_of(model.rules):
        seen: dict[str, str] = {}
        for level in (level for level in model.features[index].levels if isinstance(level, str)):
            if (old := seen.setdefault(folded(level), level)) != level:
                name, wish = model.features[index].name, "" if engine != ANY else f" {NAME_ONE}"
                raise ExportError(
                    f"Column '{name}' has the categories {old!r} and {level!r}, which may be equal in {engine}. "
                    f"Rename one of them.{wish}"
                )


def check_statement(writer: Writer, engine: str) -> None:
    """Reject what the engine, or with no dialect any engine, would read in another way."""
    model, dialect = writer.model, writer.dialect
    _check_inputs(model, dialect, engine)
    portable = dialect.portable
    if portable or (dialect.name == PIVOT.name and may_fold_text(engine)):
        _check_levels(model, engine)
    long = [name for name in writer.names("probability") if not POSTGRES.keeps(name)]
    if portable and long:
        raise ExportError(
            f"Column {long[0]!r} would have a name of more than {NAME_BYTES} bytes, which some engines cut. "
            f"Fit with shorter labels. {NAME_ONE}"
        )


# ---------------------------------------------------------------------------------------------------------- statements


def _expression(writers: Mapping[str, Writer]) -> str:
    """What to paste into a SELECT: of numbers the prediction alone, of classes or several predictions all columns."""
    columns: dict[str, str] = {}
    for prediction, writer in writers.items():
        sums = writer.sums(prediction)
        columns |= {**sums, **writer.answers(list(sums.values()), prediction)}
    several = len(writers) > 1 or writer.model.family.shape
    return _listed(columns, writer.dialect) if several else columns[prediction]


def _listed(columns: dict[str, str], dialect: Dialect) -> str:
    return ",\n".join(f"{value} AS {dialect.identifier(name)}" for name, value in columns.items())


def query(writers: Mapping[str, Writer], table: str, reasons: ReasonColumns | None = None) -> str:
    """A SELECT statement: every column of the table, and the predictions by their names."""
    (prediction, writer), *_ = writers.items()
    model, dialect = writer.model, writer.dialect
    source, scored = dialect.identifier(SOURCE), dialect.identifier(SCORED)
    name = ".".join(dialect.identifier(part, "Table") for part in table.split("."))
    sums: dict[str, str] = {}
    answers: dict[str, str] = {}
    for prediction, own in writers.items():
        writer, outer = replace(own, source=SOURCE), replace(own, source=SCORED)
        fresh = writer.sums(prediction)
        answers |= outer.answers([outer.column(column) for column in fresh], prediction)
        sums |= fresh
    _check_added(model, [*sums, *answers, *(reasons.names if reasons is not None else [])])
    inner = f"SELECT {source}.*,\n{_listed(sums, dialect)}\nFROM {name} AS {source}"
    if answers:
        inner = f"SELECT {scored}.*,\n{_listed(answers, dialect)}\nFROM (\n{inner}\n) AS {scored}"
    return inner if reasons is None else with_reason_columns(writer, inner, reasons, prediction)


def _comments(writer: Writer) -> str:
    """What is predicted, the rules, and the classes of numbered columns."""
    model, family = writer.model, writer.model.family
    lines = [f"{family.predicted_text}, by pysirus", *link_lines(model), *rule_lines(model.rules, model)]
    words = [*(["probability"] if writer.has_shares else []), *([family.sum_word] if family.labels_of_sums else [])]
    for word in dict.fromkeys(words):
        names = zip(writer.names(word), family.classes or ())
        lines += [f"{name}: {label}" for name, label in names if name != f"{word}_{label}"]
    return "".join(f"-- {one_line(line)}\n" for line in lines)


def with_exp(model: Model, dialect: Dialect, probability: bool | None, math_functions: bool) -> Dialect:
    """The dialect, and whether exponentials are written in it; where the engine may have none they are refused."""
    if not model.family.needs_exp:
        return dialect
    classes = bool(model.family.shape)  # without exponentials they have their scores and the class
    if math_functions:
        dialect = replace(dialect, has_exp=True)
    if not dialect.has_exp and (probability or not classes):
        raise ExportError(
            f"The {'probability' if classes else 'prediction'} needs exp(), which {dialect.name} has only where it is "
            "built with math functions. Say math_functions=True if yours is (SELECT exp(1) works)"
            + (", or leave probability out to get the score and the class." if classes else ".")
        )
    return replace(dialect, has_exp=False) if probability is False and classes else dialect


def to_sql(
    model: Model,
    *,
    table: str | None = None,
    dialect: str | None = None,
    prediction: str = "prediction",
    probability: bool | None = None,
    math_functions: bool = False,
    reasons: int | None = None,
    direction: str | None = None,
    outcome: Any = None,
    reference: Any = "average",
    by: str = "rule",
) -> str:
    """SQL that computes the prediction.

    Classes with likelihood weights get a column ``score`` (two classes: the log-odds of the positive one, by default
    the second) or a column ``score_<label>`` for each, then the probabilities and the class.

    Parameters
    ----------
    model : Model
        The model.
    table : str, optional
        The table to read, ``schema.table`` for one in a schema. Then a SELECT statement is written that adds the
        prediction (and for classes the probability of each) to the columns; the table must not have columns of these
        names. By default an expression, for classes the list of their columns, to paste into a SELECT.
    dialect : str, optional
        "postgres", "mysql", "mariadb", "sqlite", "duckdb", "spark", "databricks", or a dialect of sqlglot, such as
        "snowflake" or "tsql". By default ANSI; then names, levels and labels that engines read in different ways are
        refused.
    prediction : str, default="prediction"
        Name of the column that is added.
    probability : bool, optional
        For classes with likelihood weights: whether to write the probabilities. By default they are written, except for
        "sqlite", which may have no ``exp()``: there True is an error without ``math_functions``.
    math_functions : bool, default=False
        Whether this SQLite is built with math functions.
    reasons : int, optional
        How many reasons to add for each row, in columns ``reason_1``, ``contribution_1`` and so on, NULL where there
        are fewer. Needs ``table``; for "postgres" and "duckdb".
    direction, outcome, reference, by : optional
        Which reasons; see ``RuleModel.reasons``.

    Returns
    -------
    text : str
    """
    check_labels(model, "SQL")
    writer = Writer(model, with_exp(model, dialect_named(dialect), probability, math_functions))
    if reasons is None:
        return f"{_comments(writer)}{_statement({prediction: writer}, dialect, table)}\n"
    if table is None:
        raise ExportError(
            f"{Parameter('reasons')} adds columns to the rows of a table: name it with {Parameter('table')}."
        )
    asked = reason_columns(writer, reasons, direction, outcome, reference, by)
    check_statement(writer, dialect or ANY)
    return f"{_comments(writer)}-- {asked.comment}\n{query({prediction: writer}, table, asked)}\n"


def predicted_columns(model: Model, X: Any, prediction: str) -> dict[str, Any]:
    """What a query with the table's columns adds to some rows, as the model finds it, by the name of the column."""
    writer, scores = Writer(model, PIVOT), model.scores(X)
    family, sums = model.family, list(writer.sums(prediction))
    if family.form == "shares":
        found = dict(zip(sums, model.predict_proba(X).T))
    elif family.form == "odds":
        odds = model.decision_function(X)
        found = {sums[0]: odds if pair_of(family).positive == 1 else -odds}
    else:
        found = dict(zip(sums, scores.reshape(len(scores), -1).T))
    if family.form in ("odds", "softmax"):
        found |= zip(writer.names("probability"), model.predict_proba(X).T)
    return {**found, prediction: model.predict(X)}


def changed_text(model: Model, query: str, prediction: str) -> tuple[str, ...]:
    """The numbers and texts in which a query differs from the export; nothing for queries of another form."""
    asked = FROM.search(query)
    if asked is None:
        return ()
    table = ".".join(a.replace('""', '"') or b.replace("``", "`") for a, b in PART.findall(asked[1]))
    found = []
    for dialect in ("duckdb", "sqlite", "postgres", None):
        for probability in (None, True, False):
            options: dict[str, Any] = {"math_functions": True, "probability": probability}
            try:
                exported = to_sql(model, table=table, dialect=dialect, prediction=prediction, **options)
            except ExportError:
                continue
            found.append(changed_literals(query, exported))
    return min((own for own in found if own is not None), key=len, default=())


def _statement(writers: Mapping[str, Writer], dialect: str | None, table: str | None) -> str:
    """The query, or without a table the expression, in the words of the engine; predictions by their names."""
    translated = dialect is not None and dialect_named(dialect) is PIVOT
    if dialect is not None and translated:
        check_dialect(dialect)
    for writer in writers.values():
        check_statement(writer, dialect or ANY)
    if table is None:
        statement = _expression(writers)
        if dialect is not None and translated:
            statement = translate(f"SELECT {statement}", dialect).removeprefix("SELECT").strip()
    else:
        statement = query(writers, table)
        if dialect is not None and translated:
            statement = translate(statement, dialect)
    return statement


def whole_sql(models: Mapping[str, Model], *, table: str | None = None, dialect: str | None = None) -> str:
    """Models of the same columns whose parts are whole numbers, as SQL that adds whole numbers; without comments."""
    writers = {name: Writer(model, dialect_named(dialect), whole=True) for name, model in models.items()}
    return f"{_statement(writers, dialect, table)}\n"
