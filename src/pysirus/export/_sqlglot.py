"""A statement in the standard's words in, another dialect's spelling out, by sqlglot, read back before it is handed on.

sqlglot escapes names and text as each dialect reads them. What it does not read back as it was meant is refused: such a
text could end early, and the engine would run the rest of it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from pysirus.export._conditions import ExportError

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
        raise ExportError("The empty text is a level or a label, and NULL in Oracle. Rename it.")


def folds(dialect: str) -> bool:
    """Whether text that differs in case, accents or spaces at the end may be equal."""
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
