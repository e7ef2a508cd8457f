"""The ground truth is well-formed, points at what the descriptions have, and is split by the hash alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from corrigible.adapters.mapping.conversion import CONVERSIONS
from corrigible.adapters.mapping.mapping import Equivalence
from tests._support.rows import rows
from tests.mapping import described
from tests.mapping.judged import JudgedMapping, JudgedOperation, TruthFile, split_of

HERE = Path(__file__).parent
PATHS = sorted((HERE / "truth").glob("*.json"))
LARGEST = 1_500_000


@cache
def truth(path: Path) -> TruthFile:
    return TruthFile.model_validate_json(path.read_bytes())


def judged() -> Iterator[tuple[TruthFile, JudgedOperation, JudgedMapping]]:
    for path in PATHS:
        for operation in truth(path).operations:
            for mapping in operation.mappings:
                yield truth(path), operation, mapping


@rows("path", PATHS, ids=lambda path: path.stem)
def test_each_file_has_what_its_name_says(path: Path) -> None:
    file = truth(path)
    assert path.name == f"{file.source_api}--{file.target_api}.{file.split}.json".replace(" ", "-")
    assert {file.source_api, file.target_api} <= described.index().keys()
    assert max(Counter(operation.source.key for operation in file.operations).values()) == 1


@rows("path", PATHS, ids=lambda path: path.stem)
def test_nobody_chose_what_is_kept_out(path: Path) -> None:
    file = truth(path)
    assert {split_of(file.source_api, operation.source.key, file.target_api) for operation in file.operations} == {
        file.split
    }


@pytest.mark.nightly
@rows("path", PATHS, ids=lambda path: path.stem)
def test_all_operations_and_pointers_are_in_the_descriptions(path: Path) -> None:
    file = truth(path)
    sources, targets = described.operations(file.source_api), described.operations(file.target_api)
    for operation in file.operations:
        source = sources[operation.source.key]
        given = {field.pointer for field in source.arguments}
        told = {field.pointer for field in source.results}
        assert {trap.target.key for trap in operation.traps} <= targets.keys() - operation.right.keys(), (
            operation.source.key
        )
        for mapping in operation.mappings:
            where = f"{operation.source.key} -> {mapping.target.key}"
            target = targets[mapping.target.key]
            taken = {field.pointer for field in target.arguments}
            answered = {field.pointer for field in target.results}
            assert {pair.source for pair in mapping.arguments} | {
                *mapping.lost_arguments,
                *mapping.doubtful_arguments,
            } <= given, where
            assert {pair.target for pair in mapping.arguments} <= taken, where
            assert {pair.source for pair in mapping.results} | {
                *mapping.lost_results,
                *mapping.doubtful_results,
            } <= told, where
            assert {pair.target for pair in mapping.results} <= answered, where
            assert {constant.target for constant in mapping.constants} <= taken, where


@pytest.mark.nightly
def test_what_is_judged_is_judged_wholly() -> None:
    for file, operation, mapping in judged():
        source = described.operations(file.source_api)[operation.source.key]
        for fields, pairs, lost, doubtful, parents in (
            (
                source.arguments,
                mapping.arguments,
                mapping.lost_arguments,
                mapping.doubtful_arguments,
                mapping.judged_arguments,
            ),
            (source.results, mapping.results, mapping.lost_results, mapping.doubtful_results, mapping.judged_results),
        ):
            listed = {*(pair.source for pair in pairs), *lost, *doubtful}
            children = {field.pointer for field in fields if field.pointer.rpartition("/")[0] in parents}
            unlisted = {pointer for pointer in children - listed if not pointer.endswith("/*")}
            assert not unlisted, (operation.source.key, mapping.target.key)


def test_no_pair_is_listed_twice_and_none_is_lost_too() -> None:
    for _file, operation, mapping in judged():
        for pairs, lost in ((mapping.arguments, mapping.lost_arguments), (mapping.results, mapping.lost_results)):
            assert max(Counter((pair.source, pair.target) for pair in pairs).values(), default=1) == 1, (
                operation.source.key
            )
            assert {pair.source for pair in pairs}.isdisjoint(lost), operation.source.key


def test_classes_say_what_the_fields_say() -> None:
    for _file, operation, mapping in judged():
        where = f"{operation.source.key} -> {mapping.target.key}"
        lost = mapping.lost_arguments or mapping.lost_results
        moved = [
            pair for pair in (*mapping.arguments, *mapping.results) if pair.conversion or pair.source != pair.target
        ]
        if mapping.equivalence is Equivalence.SAME:
            assert not lost, where
            assert not moved, where
        if mapping.equivalence is Equivalence.SAME_WITH_CONVERSION:
            assert not lost, where


def test_conversions_have_names_or_words() -> None:
    words = {
        pair.conversion for _file, _operation, mapping in judged() for pair in (*mapping.arguments, *mapping.results)
    } - {""}
    assert CONVERSIONS.keys() & words
    assert all(len(one.split()) > 1 for one in words)


def test_each_judgement_says_why_and_from_where() -> None:
    for path in PATHS:
        for operation in truth(path).operations:
            assert operation.why, operation.source.key
            assert operation.references, operation.source.key
            assert all(one.startswith("https://") for one in operation.references), operation.source.key


def test_there_is_enough_of_everything() -> None:
    operations = [operation for path in PATHS for operation in truth(path).operations]
    pairs = [(operation.source.key, key) for operation in operations for key in operation.right]
    fields = {
        (file.source_api, file.target_api, pair.source.rpartition("/")[2], pair.target.rpartition("/")[2])
        for file, _operation, mapping in judged()
        for pair in (*mapping.arguments, *mapping.results)
    }
    assert len(pairs) >= 150
    assert len(fields) >= 400, "pairs of names, each counted once for two APIs"
    assert sum(not operation.right for operation in operations) >= 25
    kept_out = sum(len(truth(path).operations) for path in PATHS if truth(path).split == "kept_out")
    assert 0.25 < kept_out / len(operations) < 0.42


def test_descriptions_are_small_and_each_is_used() -> None:
    index = described.index()
    assert {entry["file"] for entry in index.values()} | {"index.json"} == {
        path.name for path in (HERE / "descriptions").iterdir()
    }
    assert all((HERE / "descriptions" / entry["file"]).stat().st_size < LARGEST for entry in index.values())
    assert {api for path in PATHS for api in (truth(path).source_api, truth(path).target_api)} <= index.keys()
