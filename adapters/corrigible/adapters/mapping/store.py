"""What every store of operations does, and what turns a text into a vector.

Vectors of WordLlama: static embeddings of words (256 numbers, 16 MB) that come inside the package `wordllama`.
Nothing is fetched: its loader is told where the files of the package are, and is not allowed to download.

Operations in one SQLite file: found by words through FTS5, or by vectors where an embedder made some.

A search by words reads a bounded number of postings, whatever the index holds: the rarest words of the text choose the
candidates, and all of its words rank them (BM25 over the fields of an operation, each with its weight).
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import logging
import math
import os
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import httpx
import orjson

from corrigible.rules.errors import CorrigibleError
from corrigible.schema.exchange import Json
from corrigible.schema.extra import install_line

from .mapping import ApiOfMap
from .operation import ApiDocument, CanonicalOperation, Field, joined, name_words, text_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEXICAL = "lexical (BM25)"
"""The method that needs no model."""


class StoreError(CorrigibleError):
    """An index cannot be read or written; the message names the file."""


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    @property
    def name(self) -> str:
        """Return what results name as their method; an index is searched with the embedder that made it."""
        ...

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text. Raises StoreError where that fails."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """An operation that was found. Scores of different methods cannot be compared."""

    operation: CanonicalOperation
    score: float
    method: str
    """What found it: `lexical (BM25)`, or the name of an embedder."""


class VectorStore(Protocol):
    """The vectors of an index."""

    @property
    def address(self) -> str:
        """Return what the index keeps of where they are: empty where they are in its own file."""
        ...

    def write(self, rows: Sequence[tuple[int, str, Sequence[float]]]) -> None:
        """Add the vectors of some operations: number, API, vector."""
        ...

    def nearest(self, vector: Sequence[float], limit: int, api: str) -> list[tuple[int, float]]:
        """Return numbers and cosines, the nearest first; `api` empty for all."""
        ...


def indexed_text(operation: CanonicalOperation) -> str:
    """Return what embedders read of an operation: the name in words, the sentences, the names of arguments."""
    names = " ".join(dict.fromkeys(one.name for one in operation.arguments[:40]))
    said = f"{operation.summary} {operation.description}".strip()
    tool = " ".join(operation.tags)
    return f"{joined(name_words(operation.name))}. {said} {tool} {names}".strip()[:2_000]


def unit(vector: Sequence[float]) -> list[float]:
    """Return a vector of length 1; of nothing but zeros, itself."""
    length = math.sqrt(sum(one * one for one in vector))
    return [one / length for one in vector] if length else list(vector)


KEY: Final = "EMBEDDING_API_KEY"
"""The environment variable of the key."""
_BATCH: Final = 100
_SECONDS: Final = 120.0


class EndpointEmbedder:
    """One model of one server."""

    def __init__(self, base_url: str, model: str, key: str = "") -> None:
        """`base_url`: `http://127.0.0.1:11434/v1`. Raises StoreError where a key would leave unencrypted."""
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise StoreError(f"{base_url}: a base URL starts with http:// or https:// and holds no credentials")
        loopback = _is_loopback(parts.hostname)
        if key and parts.scheme == "http" and not loopback:
            raise StoreError(f"{base_url}: the key would be sent unencrypted")
        self._url, self._model = f"{base_url.rstrip('/')}/embeddings", model
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._loopback = loopback

    @property
    def name(self) -> str:
        """The model; what answers on this machine is told as being there, since it may be a fake."""
        return f"{self._model} at an endpoint{' on this machine' if self._loopback else ''}"

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [vector for at in range(0, len(texts), _BATCH) for vector in self._batch(texts[at : at + _BATCH])]

    def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            # A proxy of the environment variables is for remote hosts.
            with httpx.Client(timeout=_SECONDS, trust_env=not self._loopback, headers=self._headers) as client:
                answer = client.post(self._url, json={"model": self._model, "input": list(texts)})
            answer.raise_for_status()
            document = answer.json()
        except httpx.HTTPStatusError as problem:
            raise StoreError(f"{self._url} answers {problem.response.status_code}") from None
        except (httpx.HTTPError, ValueError) as problem:
            raise StoreError(f"{self._url}: {type(problem).__name__}: no usable answer") from None
        try:
            return [unit(vector) for vector in _vectors(document, len(texts))]
        except (KeyError, TypeError, ValueError):
            raise StoreError(f"{self._url}: its answer does not hold {len(texts)} vectors under data") from None


def _vectors(document: Mapping[str, Json], count: int) -> list[list[float]]:
    rows = sorted(document["data"], key=lambda one: int(one["index"]))
    vectors = [[float(number) for number in one["embedding"]] for one in rows]
    if len(vectors) != count or len({len(one) for one in vectors}) != 1:
        raise ValueError("not one vector for each text")
    return vectors


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


NAME: Final = "wordllama l2_supercat_256"


class WordLlamaEmbedder:
    """The model that ships with the package."""

    def __init__(self) -> None:
        """Raises StoreError where the package is missing."""
        try:
            import wordllama
        except ImportError:
            raise StoreError(f"the embedding wordllama needs its package: {install_line('map')}") from None
        # Without `cache_dir` it looks for its tokenizer in a folder that the package does not have, and would fetch it.
        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    @property
    def name(self) -> str:
        return NAME

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [unit(vector) for vector in self._model.embed(list(texts)).tolist()]


PREFIX: Final = "milvus:"
TOKEN: Final = "MILVUS_TOKEN"
"""The environment variable with the credentials of a server."""
_COLLECTION: Final = "corrigible_operations"
_TALKATIVE: Final = ("faiss", "faiss.loader", "milvus_lite", "milvus_lite.server_manager", "grpc._server", "pymilvus")
"""Loggers that tell on the terminal what is no problem; problems come as exceptions."""
_MOST: Final = 16_384
"""Rows of one answer, as Milvus limits them."""


class MilvusVectors:
    """One collection."""

    def __init__(self, address: str, *, anew: bool = False) -> None:
        """`anew`: drop what the collection holds. Raises StoreError where there is no server, or no package."""
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            from pymilvus import MilvusClient
        except ImportError:
            raise StoreError(f"{PREFIX}{address} needs a package: {install_line('milvus')}") from None
        if "://" not in address:
            address = str(Path(address).resolve())
        self.address = f"{PREFIX}{address}"
        try:
            self._client: Any = MilvusClient(uri=address, token=os.environ.get(TOKEN, ""))
            if anew and self._client.has_collection(_COLLECTION):
                self._client.drop_collection(_COLLECTION)
            elif self._client.has_collection(_COLLECTION):
                self._client.load_collection(_COLLECTION)
        except Exception as problem:  # of its own kinds, and of grpc and of its embedded server
            raise StoreError(f"{self.address}: cannot be opened: {problem}") from None

    def write(self, rows: Sequence[tuple[int, str, Sequence[float]]]) -> None:
        if not rows:
            return
        if not self._client.has_collection(_COLLECTION):
            self._client.create_collection(
                _COLLECTION, dimension=len(rows[0][2]), metric_type="COSINE", consistency_level="Strong"
            )
        self._client.insert(_COLLECTION, [{"id": number, "vector": list(v), "api": api} for number, api, v in rows])

    def nearest(self, vector: Sequence[float], limit: int, api: str) -> list[tuple[int, float]]:
        wanted = {"filter": f"api == {json.dumps(api, ensure_ascii=False)}"} if api else {}  # Lite knows no parameters
        try:
            (hits,) = self._client.search(_COLLECTION, [list(vector)], limit=min(limit, _MOST), **wanted)
        except Exception as problem:
            raise StoreError(f"{self.address}: cannot be searched: {problem}") from None
        found = ((int(hit["id"]), round(float(hit["distance"]), 6)) for hit in hits)
        return sorted(found, key=lambda one: (-one[1], one[0]))


_KEPT: Final = 200
"""Lists that are kept unpacked."""


class FieldLists:
    """The table `field_lists`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._written: dict[bytes, int] = {}
        self._read: OrderedDict[int, tuple[Field, ...]] = OrderedDict()

    def write(self, fields: Sequence[Field]) -> int:
        """Return the number under which a list is stored."""
        rows = [(one.pointer, one.type, one.format, one.description, one.required, one.enum) for one in fields]
        data = orjson.dumps(rows)
        key = hashlib.sha256(data).digest()
        if key not in self._written:
            packed = zlib.compress(data, 1)
            row = self._database.execute("INSERT INTO field_lists VALUES (NULL, ?)", (packed,))
            self._written[key] = int(row.lastrowid or 0)
        return self._written[key]

    def read(self, number: int) -> tuple[Field, ...]:
        """Return the list of a number."""
        if number in self._read:
            self._read.move_to_end(number)
            return self._read[number]
        (packed,) = self._database.execute("SELECT data FROM field_lists WHERE id = ?", (number,)).fetchone()
        fields = tuple(
            Field.model_construct(
                pointer=pointer, type=kind, format=form, description=said, required=required, enum=tuple(enum)
            )
            for pointer, kind, form, said, required, enum in orjson.loads(zlib.decompress(packed))
        )
        self._read[number] = fields
        if len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return fields


_TABLE = "CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, data BLOB NOT NULL)"


class VectorTable:
    """The table `vectors`; in memory from the first search on."""

    address = ""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._loaded: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None

    def write(self, rows: Sequence[tuple[int, str, Sequence[float]]]) -> None:
        np = _numpy()
        self._database.execute(_TABLE)
        packed = ((number, np.asarray(vector, np.float32).tobytes()) for number, _, vector in rows)
        self._database.executemany("INSERT INTO vectors VALUES (?, ?)", packed)

    def nearest(self, vector: Sequence[float], limit: int, api: str) -> list[tuple[int, float]]:
        np = _numpy()
        if self._loaded is None:
            rows = self._database.execute("SELECT id, data FROM vectors ORDER BY id").fetchall()
            matrix = np.frombuffer(b"".join(data for _, data in rows), np.float32).reshape(len(rows), -1)
            self._loaded = np.array([number for number, _ in rows], np.int64), matrix
        numbers, matrix = self._loaded
        asked = np.asarray(vector, np.float32)
        if len(asked) != matrix.shape[1]:
            raise StoreError(f"a vector of {len(asked)} numbers cannot be compared with those of {matrix.shape[1]}")
        scores = matrix @ asked
        if api:
            rows = self._database.execute("SELECT id FROM operations WHERE api = ?", (api,)).fetchall()
            among = np.isin(numbers, [number for (number,) in rows])
            numbers, scores = numbers[among], scores[among]
        count = min(limit, len(scores))
        if not count:
            return []
        best = np.argpartition(-scores, count - 1)[:count]
        order = sorted(best, key=lambda at: (-scores[at], numbers[at]))
        return [(int(numbers[at]), round(float(scores[at]), 6)) for at in order]


def _numpy() -> ModuleType:
    try:
        import numpy
    except ImportError:
        raise StoreError(f"vectors need numpy: {install_line('map')}") from None
    return numpy


_FORMAT: Final = "corrigible index 1"
_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE apis (name TEXT PRIMARY KEY, document BLOB NOT NULL);
CREATE TABLE field_lists (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE operations (
    id INTEGER PRIMARY KEY, api TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL, document BLOB NOT NULL,
    parameters INTEGER NOT NULL, body INTEGER NOT NULL, results INTEGER NOT NULL, UNIQUE (api, method, path));
CREATE VIRTUAL TABLE words USING fts5 (name, path, summary, said, fields, tokenize = "unicode61 remove_diacritics 0");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
"""
_WEIGHTS: Final = (3.0, 3.0, 4.0, 1.0, 0.5)
"""Of the columns of `words`."""
_LENGTHS: Final = (4, 5, 5, 30, 40)
"""Usual numbers of words in them."""
_SATURATION: Final = 6.0
_LENGTH_SHARE: Final = 0.75
"""The k1 (times the usual weight) and b of BM25."""
_MOST_WORDS: Final = 12
"""Of one text: the rarest."""
_MOST_POSTINGS: Final = 2_000
_MOST_RANKED: Final = 150
_LEAST_RANKED: Final = 60
"""Candidates that all words of a text rank."""
_MOST_INDEXED: Final = 60
"""Words of the fields of one operation."""
_BATCH_OF_ROWS: Final = 500


class SqliteIndex:
    """An index that is open for searching. Not for several threads."""

    def __init__(self, file: Path, embedder: Embedder | None = None) -> None:
        """Raises StoreError where the file is no index, or `embedder` did not make it."""
        if not file.is_file():
            raise StoreError(f"{file}: no such index; make one with `corrigible map index SPEC... --out {file}`")
        self._file, self._embedder = file, embedder
        self._database = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        try:
            meta = dict(self._database.execute("SELECT key, value FROM meta"))
        except sqlite3.DatabaseError as problem:
            self._database.close()
            raise StoreError(f"{file}: not an index: {problem}") from None
        if meta.get("format") != _FORMAT:
            self._database.close()
            raise StoreError(f"{file}: its format is {meta.get('format')!r}, not {_FORMAT!r}: index anew")
        self.embedding = meta.get("embedding", "")
        """The embedder that made its vectors; empty where it has none."""
        if embedder is not None and embedder.name != self.embedding:
            self._database.close()
            made = f"has vectors of {self.embedding}" if self.embedding else "has no vectors"
            raise StoreError(f"{file}: {made}, and cannot be searched with {embedder.name}")
        self._count = int(meta.get("operations", 0))
        self._fields = FieldLists(self._database)
        address = meta.get("vectors", "")
        self._vectors: VectorStore | None = None
        if embedder is not None:
            self._vectors = vector_store(address) if address else VectorTable(self._database)

    @property
    def methods(self) -> tuple[str, ...]:
        """Return how it can be searched, the best first."""
        return (self._embedder.name, LEXICAL) if self._embedder is not None else (LEXICAL,)

    def __len__(self) -> int:
        return self._count

    def apis(self) -> list[ApiOfMap]:
        rows = self._database.execute("SELECT document FROM apis ORDER BY rowid")
        return [ApiOfMap.model_validate_json(document) for (document,) in rows]

    def operations(self, api: str = "") -> Iterator[CanonicalOperation]:
        """Yield all operations, or those of one API, in the order in which they were added."""
        where = "WHERE api = ?" if api else ""
        rows = self._database.execute(
            f"SELECT document, parameters, body, results FROM operations {where} ORDER BY id", (api,) if api else ()
        )
        for document, *lists in rows:
            yield self._operation(document, lists)

    def search(self, text: str, limit: int, *, method: str = "", api: str = "") -> list[Hit]:
        """Return the best operations for a text, the best first; ties in the order of adding."""
        if (method or self.methods[0]) == LEXICAL:
            found, name = self._by_words(text, limit, api), LEXICAL
        elif self._embedder is not None and self._vectors is not None and method in ("", self._embedder.name):
            vector = self._embedder.vectors([text])[0]
            found, name = self._vectors.nearest(vector, limit, api), self._embedder.name
        else:
            raise StoreError(f"{self._file}: cannot be searched by {method}, only by {', '.join(self.methods)}")
        return [Hit(self._one(number), score, name) for number, score in found]

    def close(self) -> None:
        self._database.close()

    def _one(self, number: int) -> CanonicalOperation:
        document, *lists = self._database.execute(
            "SELECT document, parameters, body, results FROM operations WHERE id = ?", (number,)
        ).fetchone()
        return self._operation(document, lists)

    def _operation(self, document: bytes, lists: Sequence[int]) -> CanonicalOperation:
        parameters, body, results = map(self._fields.read, lists)
        return CanonicalOperation.model_construct(
            **_shown(orjson.loads(document)), arguments=(*parameters, *body), results=results
        )

    def _by_words(self, text: str, limit: int, api: str) -> list[tuple[int, float]]:
        counts = {word: self._count_of(word) for word in dict.fromkeys(text_words(text)) if word.isalnum()}
        rarest = sorted((word for word, count in counts.items() if count), key=lambda word: (counts[word], word))
        rarest = rarest[:_MOST_WORDS]
        if not rarest:
            return []
        chosen, postings = list[str](), 0
        for word in rarest:
            if chosen and postings + counts[word] > _MOST_POSTINGS:
                break
            chosen.append(word)
            postings += counts[word]
        worth = {word: math.log(1 + (self._count - counts[word] + 0.5) / (counts[word] + 0.5)) for word in rarest}
        most = min(_MOST_RANKED, max(_LEAST_RANKED, 5 * limit))
        found = self._candidates(chosen, api, most, ranks=postings <= _MOST_POSTINGS)
        ranked = sorted((-_bm25(columns, worth), number) for number, columns in found)
        return [(number, round(-score, 6)) for score, number in ranked[:limit]]

    def _candidates(
        self, words: Sequence[str], api: str, most: int, *, ranks: bool
    ) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield numbers and columns of the best operations for some words; of too many, those first added."""
        order = f"ORDER BY bm25(words, {', '.join(map(str, _WEIGHTS))}), words.rowid" if ranks else ""
        joint, where = ("JOIN operations ON operations.id = words.rowid", "AND operations.api = ?") if api else ("", "")
        query = " OR ".join(f'"{word}"' for word in words)
        chosen = (
            f"SELECT words.rowid AS number FROM words {joint} WHERE words MATCH ? {where} {order} LIMIT {_MOST_RANKED}"
        )
        rows = self._database.execute(
            f"SELECT words.rowid, name, path, summary, said, fields FROM ({chosen}) JOIN words ON words.rowid = number",
            (query, api) if api else (query,),
        )
        for number, *columns in rows:
            yield number, columns

    def _count_of(self, word: str) -> int:
        row = self._database.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
        return int(row[0]) if row is not None else 0


def vector_store(address: str) -> VectorStore:
    """Open the vectors at an address that an index keeps. Raises StoreError."""
    return MilvusVectors(address.removeprefix(PREFIX))


def write_sqlite(
    file: Path,
    documents: Iterable[ApiDocument],
    embedder: Embedder | None = None,
    vectors: VectorStore | None = None,
) -> int:
    """Write an index anew, and return how many operations it holds. An operation that is there already is left out.

    `vectors`: where they are kept; else in the file. Raises StoreError where the file cannot be written.
    """
    draft = file.with_name(f"{file.name}.part")
    try:
        draft.unlink(missing_ok=True)
        database = sqlite3.connect(draft)
    except (OSError, sqlite3.Error) as problem:
        raise StoreError(f"{file}: cannot be written: {problem}") from None
    try:
        with database:
            database.executescript(_SCHEMA)
            count = _fill(database, documents, embedder, vectors or VectorTable(database))
        database.close()
        draft.replace(file)
    except (OSError, sqlite3.Error) as problem:
        raise StoreError(f"{file}: cannot be written: {problem}") from None
    finally:
        database.close()
        draft.unlink(missing_ok=True)
    return count


def _fill(
    database: sqlite3.Connection, documents: Iterable[ApiDocument], embedder: Embedder | None, vectors: VectorStore
) -> int:
    fields, count = FieldLists(database), 0
    waiting: list[tuple[int, str, str]] = []
    for document in documents:
        database.execute("INSERT OR IGNORE INTO apis VALUES (?, ?)", (document.name, document.api.model_dump_json()))
        for operation in document.operations:
            split = next(
                (at for at, one in enumerate(operation.arguments) if one.pointer.startswith("/body")),
                len(operation.arguments),
            )
            row = database.execute(
                "INSERT OR IGNORE INTO operations VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(operation.api, operation.method, operation.path, _document(operation)),
                    *(fields.write(operation.arguments[:split]), fields.write(operation.arguments[split:])),
                    fields.write(operation.results),
                ),
            )
            if row.rowcount == 0:
                continue
            count += 1
            number = int(row.lastrowid or 0)
            database.execute(
                "INSERT INTO words (rowid, name, path, summary, said, fields) VALUES (?, ?, ?, ?, ?, ?)",
                (number, *_columns(operation)),
            )
            if embedder is not None:
                waiting.append((number, operation.api, indexed_text(operation)))
    if embedder is not None:
        rows = iter(waiting)
        while batch := list(islice(rows, _BATCH_OF_ROWS)):
            made = embedder.vectors([text for *_, text in batch])
            vectors.write([(number, api, vector) for (number, api, _), vector in zip(batch, made, strict=True)])
    about = {"format": _FORMAT, "operations": str(count)}
    if embedder is not None:
        about |= {"embedding": embedder.name, "vectors": vectors.address}
    database.executemany("INSERT INTO meta VALUES (?, ?)", about.items())
    database.execute("INSERT INTO words (words) VALUES ('optimize')")
    return count


def _columns(operation: CanonicalOperation) -> tuple[str, ...]:
    fields = (word for one in (*operation.arguments, *operation.results) for word in name_words(one.name))
    return (
        joined((*name_words(operation.name), *(word for tag in operation.tags for word in name_words(tag)))),
        joined((*name_words(operation.path), *name_words(operation.api))),
        joined(text_words(operation.summary)),
        joined(text_words(operation.description)),
        joined(islice(dict.fromkeys(fields), _MOST_INDEXED)),
    )


def _bm25(columns: Sequence[str], worth: Mapping[str, float]) -> float:
    """Score one operation: each column adds the weighted share of a word that its length leaves."""
    padded = [f" {text} " for text in columns]
    weights = [
        weight / (1 - _LENGTH_SHARE + _LENGTH_SHARE * (text.count(" ") - 1) / usual)
        for text, weight, usual in zip(padded, _WEIGHTS, _LENGTHS, strict=True)
    ]
    score = 0.0
    for word, value in worth.items():
        sought = f" {word} "
        share = sum(text.count(sought) * weight for text, weight in zip(padded, weights, strict=True))
        score += value * share * (_SATURATION + 1) / (_SATURATION + share)
    return score


def _document(operation: CanonicalOperation) -> bytes:
    return orjson.dumps(operation.model_dump(exclude={"arguments", "results"}, exclude_defaults=True))


def _shown(document: dict[str, Any]) -> dict[str, Any]:
    for name in ("tags", "schemas"):
        if isinstance(listed := document.get(name), list):
            document[name] = tuple(listed)
    return document
