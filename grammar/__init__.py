"""The grammar of the cq language, as text.

Nobody else needs to know where the file is or that it is a file: an installed wheel, a zip on a
Spark worker and a working copy all answer the same.
"""

from importlib.resources import files

__all__ = ["grammar_text"]


def grammar_text() -> str:
    """Return the Lark grammar of the language.

    Example:
        >>> "start" in grammar_text()
        True
    """
    return files(__name__).joinpath("cq.lark").read_text(encoding="utf-8")
