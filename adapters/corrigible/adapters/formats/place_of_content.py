"""The field of a gRPC message whose content a parser refuses: a query in a language of its own, a document, bytes.

Parsers know no fields. Which one they read is clear only where a single one can be meant.

| the sentence                                     | means                                              |
|--------------------------------------------------|----------------------------------------------------|
| `Error during planning: table 'x' not found`     | the only field that holds a query: `query`, `sql`  |
| `EOF while parsing a value at line 1 column 0`   | the only text that was sent, or the one that was not |
| `File is not a zip file`                         | the only field that holds bytes: `content`, `data` |

Knows: one sentence, what was sent, what the method declares. Does not know: the languages themselves, rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.adapters.vocabulary import ANY, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, to_pointer, value_at
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Protocol, Request

from .message.sent_values import SentValue

_READ: Final = 500
_COMPARED_A_STEP: Final = 8
_QUERIES: Final = frozenset(
    {"query", "sql", "statement", "filter", "expression", "expr", "where", "condition", "cypher", "promql", "predicate"}
)
"""Last words of the names of fields that hold a query."""
_NAMING: Final = frozenset({"id", "ids", "name", "key", "uuid", "parent", "type", "kind", "token", "version"})
_OF_QUERY: Final = re.compile(
    r"(?i)\bSQL(?!STATE)\b|\b(?:syntax|parse|parser|parsing|planning|semantic|binder|catalog|schema) ?error\b"
    r"|\berror (?:during|while|in) (?:planning|parsing|query)\b|\bno field named\b|\bno viable alternative\b"
    r"|\b(?:mismatched|extraneous) input\b|\bunresolved (?:column|reference|name)\b"
    r"|\b(?:table|column|relation|view|function)\b.{0,80}\b(?:not found|not exist|doesn't exist|unknown|ambiguous)\b"
    r"|\b(?:unknown|no such) (?:table|column|relation|view|function)\b"
    r"|\b(?:expected|unexpected|missing|unterminated|invalid) .{1,60}\bat (?:position|offset|index|line|column"
    r"|char\w*) \d"
)
_OF_DOCUMENT: Final = re.compile(
    r"(?i)\bEOF while parsing\b|\bexpected (?:value|ident|.{1,20}) at line \d|\bunexpected end of (?:json|input|file)\b"
    r"|\bunexpected token\b|\bExpecting (?:value|property name|',' delimiter)|\binvalid character '.{1,4}' (?:looking"
    r"|after|in)\b|\bno content to map\b|\bunrecognized token\b|^yaml: |\billegal base64\b|\bincorrect padding\b"
    r"|\binvalid base64\b|\berror parsing message\b|\binvalid wire type\b|\btrailing (?:characters|comma) at line"
    r"|\b(?:not (?:a )?valid|invalid|malformed) (?:json|yaml|xml|toml)\b"
)
_READ_OF: Final = re.compile(
    r"(?i)\b(?:decod|pars|unmarshal|deseriali[sz])(?:ing|e)? (?:the |an? )?(?P<noun>[a-z]\w{1,60})\b"
)
_OF_NOTHING: Final = re.compile(
    r"(?i)\b(?:empty|missing|blank|unexpected end|end of|no (?:query|statement|filter|sql))\b|EOF"
)
_NOTHING_READ: Final = re.compile(
    r"(?i)\bEOF while parsing a value at line 1 column 0\b|\bunexpected end of (?:json|input)\b|\bno content to map\b"
    r"|Expecting value: line 1 column 1 \(char 0\)"
)
"""What parsers of JSON say of an empty text: a field that is not set is one."""


_OF_BYTES: Final = re.compile(
    r"(?i)\bnot a (?:valid )?(?:zip|gzip|gzipped|tar|archive|pdf|image|png|jpeg|wasm|pem|certificate)\b"
    r"|\bnot in gzip format\b|\bno item named\b.{0,80}\barchive\b|\bcannot identify image\b"
    r"|\b(?:bad|invalid) (?:magic|zip|archive|image|pem)\b"
)
_HOLDERS: Final = frozenset(
    {"content", "contents", "data", "payload", "blob", "bytes", "archive", "file", "image", "bundle"}
)
"""Last words of the names of fields that hold bytes."""


_OF_BASE64: Final = re.compile(r"(?i)\b(?:illegal|invalid|malformed|not (?:a )?valid) base64\b|\bincorrect padding\b")


def is_of_base64(message: str) -> bool:
    """Whether a sentence is about a text that is to be bytes in base64: no body as a whole is that."""
    return _OF_BASE64.search(message[:_READ]) is not None


def is_of_bytes(message: str, request: Request, vocabulary: Vocabulary) -> bool:
    """Whether a sentence is about bytes of a known form, and a single field can hold them."""
    return _OF_BYTES.search(message[:_READ]) is not None and bool(_holder(request, vocabulary))


def _holder(request: Request, vocabulary: Vocabulary) -> str:
    """Return the only declared field that holds bytes, or the outermost around it that was not sent."""
    spend(len(vocabulary.places) // _COMPARED_A_STEP)
    paths = [path for path in vocabulary.places if path[0] == "body" and not _HOLDERS.isdisjoint(words(path[-1])[-1:])]
    least = min(map(len, paths), default=0)
    paths = [path for path in paths if len(path) == least]
    if len(paths) != 1 or ANY in paths[0]:
        return ""
    for end in range(2, len(paths[0])):
        if value_at(request, place := to_pointer(paths[0][:end])) is MISSING:
            return place
    return to_pointer(paths[0])


def is_of_query(message: str, request: Request, vocabulary: Vocabulary) -> bool:
    """Whether a sentence is about a query, and a single field can hold that."""
    if _OF_QUERY.search(message[:_READ]) is None:
        return False
    fields = _query_fields(request, vocabulary)
    return len(fields) == 1 and (
        value_at(request, fields[0]) not in (MISSING, "") or _OF_NOTHING.search(message[:_READ]) is not None
    )


def place_of_content(message: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the only field whose content a sentence of a parser can be about; empty where several can be."""
    text = message[:_READ]
    if (read := _READ_OF.search(text)) is not None and request.protocol is Protocol.GRPC:
        noun = words(read["noun"])[-1:]
        named = [one.pointer for one in sent if one.path[1:] and noun and words(one.path[-1])[-1:] == noun]
        if len(named) == 1:
            return named[0]
    if _OF_QUERY.search(text) is not None:
        fields = _query_fields(request, vocabulary)
        if len(fields) == 1 and value_at(request, fields[0]) in (MISSING, "") and _OF_NOTHING.search(text) is None:
            fields = []  # what is not there has no fault in it
        if fields:
            return fields[0] if len(fields) == 1 else ""
    if _OF_BYTES.search(text) is not None:
        return _holder(request, vocabulary)
    if _OF_DOCUMENT.search(text) is None:
        return ""
    spend(len(sent) // _COMPARED_A_STEP)
    texts = [one for one in sent if isinstance(one.value, str) and one.path and _NAMING.isdisjoint(words(one.path[-1]))]
    if _NOTHING_READ.search(text) is None:
        return texts[0].pointer if len(texts) == 1 else ""
    blank = [one.pointer for one in texts if one.value == ""]
    unset = blank or _unset(request, vocabulary)
    if len(unset) > 1:
        told = set(words(re.sub(r"\W+", " ", text)))
        unset = [place for place in unset if told & {*words(place.rpartition("/")[2])}]
    return unset[0] if len(unset) == 1 else ""


def _query_fields(request: Request, vocabulary: Vocabulary) -> list[str]:
    """Return the declared fields that hold a query, those that were sent alone where there are any."""
    spend(len(vocabulary.places) // _COMPARED_A_STEP)
    places = [
        to_pointer(path) for path in vocabulary.places if words(path[-1])[-1:] and words(path[-1])[-1] in _QUERIES
    ]
    values = {place: value_at(request, place) for place in places}
    texts = [place for place, value in values.items() if isinstance(value, str) and value]
    return texts or [place for place in places if place.count("/") == 2 and values[place] in (MISSING, "")]


def _unset(request: Request, vocabulary: Vocabulary) -> list[str]:
    """Return the outermost fields that were not sent and are no names."""
    paths = [path for path in vocabulary.places if len(path) == 2 and path[0] == "body"]
    paths = [path for path in paths if _NAMING.isdisjoint(words(path[1]))]
    return [place for path in paths if value_at(request, place := to_pointer(path)) in (MISSING, "")]
