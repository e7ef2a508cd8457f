"""`corrigible map index` and `corrigible map search`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from corrigible.adapters.mapping.operation import ApiDocument, CanonicalOperation
from corrigible.adapters.mapping.spec_file import read_spec
from corrigible.adapters.mapping.store import LEXICAL, EndpointEmbedder, SqliteIndex, StoreError, unit, write_sqlite
from corrigible.proxy.cli import main
from tests._support.catalogue import QUERIES, many
from tests._support.rows import rows

STRANGERS = Path(__file__).parents[2] / "strangers"
SPEC = STRANGERS / "acapy/swagger.json"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("index") / "apis.index"
    assert main(["map", "index", f"acapy={SPEC}", str(STRANGERS / "superset/openapi.json"), "--out", str(file)]) == 0
    return file


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main(["map", "search", *words, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_operation_is_found_by_words_and_the_method_is_told(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = found(capsys, "create a connection invitation", "--index", str(index))[0]
    assert (first["api"], first["method"], first["path"]) == ("acapy", "POST", "/connections/create-invitation")
    assert first["by"] == LEXICAL


def test_a_search_in_one_api_finds_nothing_of_another(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hits = found(capsys, "list all", "--index", str(index), "--api", "Superset v1", "--limit", "50")
    assert {hit["api"] for hit in hits} == {"Superset v1"}


def test_what_is_indexed_is_what_was_read(index: Path) -> None:
    (document,) = read_spec(SPEC, "acapy")
    stored = SqliteIndex(index)
    assert list(stored.operations("acapy")) == list(document.operations)
    assert [one.name for one in stored.apis()] == ["acapy", "Superset v1"]
    stored.close()


def test_words_that_nothing_has_find_nothing(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["map", "search", "qqzyx", "--index", str(index)]) == 1


def test_no_mark_of_a_text_is_an_operator(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hits = found(capsys, 'invitation" NOT (connection* NEAR', "--index", str(index))
    assert "/connections/create-invitation" in [hit["path"] for hit in hits]


@rows(
    ("words", "problem"),
    [
        (["index", "missing.json", "--out", "x"], "missing.json: no such file"),
        (["search", "x", "--index", "missing.index"], "no such index"),
        (["search", "x", "--index", "{index}", "--api", "nobody"], "not in this index; there are acapy"),
        (["search", "x", "--index", "{index}", "--by", "vectors"], "--embedding says what makes them"),
        (["search", "x", "--index", "{index}", "--limit", "0"], "at least 1"),
        (["search", "x", "--index", "{index}", "--embedding", "magic"], "there are none, wordllama, endpoint:MODEL"),
        (["search", "x", "--index", str(SPEC)], "not an index"),
    ],
)
def test_bad_arguments_are_told(
    index: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    assert main(["map", *(word.format(index=index) for word in words)]) == 2
    assert problem in capsys.readouterr().err


class Letters:
    """Counts letters: no model, only something with a direction."""

    name = "letters (a test's own)"

    def vectors(self, texts: list[str]) -> list[list[float]]:
        return [unit([float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]) for text in texts]


def test_vectors_are_searched_with_the_embedder_that_made_them_only(tmp_path: Path) -> None:
    operations = tuple(
        CanonicalOperation(api="a", name=name, method="GET", path=f"/{name}") for name in ("zzz", "abc", "aab")
    )
    file = tmp_path / "x.index"
    letters = Letters()
    assert write_sqlite(file, [ApiDocument("a", "", "", "", "", operations)], letters) == 3  # type: ignore[arg-type]
    index = SqliteIndex(file, letters)  # type: ignore[arg-type]
    hits = index.search("aab", 2)
    assert ([hit.operation.name for hit in hits], hits[0].method) == (["aab", "abc"], letters.name)
    assert index.search("zzz", 1, method=LEXICAL)[0].method == LEXICAL
    index.close()
    assert SqliteIndex(file).methods == (LEXICAL,)
    plain = tmp_path / "plain.index"
    write_sqlite(plain, [ApiDocument("a", "", "", "", "", operations)])
    with pytest.raises(StoreError, match="has no vectors"):
        SqliteIndex(plain, letters)  # type: ignore[arg-type]


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(name) is None, reason=f"no {name}: it is in an extra of its own")


@needs("wordllama")
def test_the_small_model_finds_without_a_download(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # no cache from elsewhere
    file = tmp_path / "x.index"
    assert main(["map", "index", f"acapy={SPEC}", "--out", str(file), "--embedding", "wordllama"]) == 0
    first = found(capsys, "create a connection invitation", "--index", str(file), "--embedding", "wordllama")[0]
    assert (first["path"], first["by"]) == ("/connections/create-invitation", "wordllama l2_supercat_256")


@needs("pymilvus")
def test_vectors_may_be_kept_in_milvus(tmp_path: Path) -> None:
    """In a process of its own: Milvus Lite starts a server and talks to its log."""
    code = f"""
from pathlib import Path
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.operation import ApiDocument
from corrigible.adapters.mapping.store import MilvusVectors
from corrigible.adapters.mapping.store import SqliteIndex, write_sqlite
class Letters:
    name = "letters"
    def vectors(self, texts):
        return [[float(text.count(letter)) + 0.01 for letter in "abz"] for text in texts]
made = [CanonicalOperation(api=api, name=n, method="GET", path="/" + n) for api in "pq" for n in ("zzz", "abb", "aab")]
file = Path({str(tmp_path / "x.index")!r})
vectors = MilvusVectors({str(tmp_path / "m.db")!r}, anew=True)
documents = [ApiDocument(api, "", "", "", "", tuple(o for o in made if o.api == api)) for api in "pq"]
assert write_sqlite(file, documents, Letters(), vectors) == 6
index = SqliteIndex(file, Letters())
assert [(h.operation.api, h.operation.name) for h in index.search("aab", 2, api="q")] == [("q", "aab"), ("q", "abb")]
assert {{h.operation.name for h in index.search("zzz", 2)}} == {{"zzz"}}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr


class FakeEmbeddings(BaseHTTPRequestHandler):
    """Speaks `POST /embeddings`, and counts letters. It owns up to being a fake in a header."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        vectors = Letters().vectors(asked["input"])
        data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        body = json.dumps({"data": data[::-1], "model": asked["model"]}).encode()
        self.send_response(200 if asked["model"] == "fake-letters" else 404)
        self.send_header("x-corrigible-fake", "1")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeEmbeddings)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_any_endpoint_makes_vectors(endpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.index"
    words = ["--embedding", "endpoint:fake-letters", "--base-url", endpoint]
    assert main(["map", "index", f"acapy={SPEC}", "--out", str(file), *words]) == 0
    hits = found(capsys, "connection invitation", "--index", str(file), *words)
    assert hits[0]["by"] == "fake-letters at an endpoint on this machine"
    assert main(["map", "search", "x", "--index", str(file), "--embedding", "endpoint:no", "--base-url", endpoint]) == 2


@pytest.mark.parametrize(
    ("url", "problem"),
    [("http://example.com/v1", "sent unencrypted"), ("https://me:pw@example.com", "no credentials"), ("x", "http://")],
)
def test_no_key_leaves_in_the_open(url: str, problem: str) -> None:
    with pytest.raises(StoreError, match=problem):
        EndpointEmbedder(url, "m", "s3cret")


def test_what_only_one_of_five_thousand_operations_has_is_found_first(tmp_path: Path) -> None:
    file = tmp_path / "x.index"
    assert write_sqlite(file, [ApiDocument("many", "", "", "", "", many(5_000))]) == 5_000
    index = SqliteIndex(file)
    for text in QUERIES:
        assert len(index.search(text, 10)) == 10
    assert "number4711" in index.search(QUERIES[2], 10)[0].operation.summary
    index.close()
