"""Wordings: what a sentence of a server says, read by rows of data.

A row is one pattern of one kind of complaint in one language, with typed slots. Here nothing is known of requests,
of descriptions and of the bodies that texts come from.
"""

from corrigible.rules.wordings.reader import Reading, Said, Wordings, read, reading_with, wordings_of
from corrigible.rules.wordings.rows import Kind, Rows, languages, says_where

__all__ = [
    "Kind",
    "Reading",
    "Rows",
    "Said",
    "Wordings",
    "languages",
    "read",
    "reading_with",
    "says_where",
    "wordings_of",
]
