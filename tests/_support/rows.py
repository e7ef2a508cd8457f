"""Many rows of one table are one test: `rows` in place of `pytest.mark.parametrize`, for more than about five.

A row costs what its check costs: no item, no set-up, no report. All rows run, and the test fails once with each that
failed, by its id. With `-x` the first that fails is the last. CORRIGIBLE_ROWS=TEXT runs rows with a text in their id.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, product
from typing import Any, Final

import pytest

SHOWN: Final = 20
"""Of so many failed rows the reason is shown, of the others the id alone."""
_CAUGHT: Final = (Exception, pytest.fail.Exception, pytest.skip.Exception)
_PLAIN: Final = (str, int, float, bool, type(None))

Ids = Callable[[Any], object] | Iterable[object] | None
Row = tuple[str, dict[str, Any]]
"""A name, and the arguments of the test."""
_ends_at_first: list[bool] = []
"""Whether pytest has the option `-x`: not empty."""


def pytest_configure(config: pytest.Config) -> None:
    """Heed `-x`."""
    _ends_at_first[:] = [True] * (config.getoption("maxfail") == 1)


def rows(
    names: str | tuple[str, ...], table: Iterable[Any], *, ids: Ids = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test function for each row of a table, in one test. Two of these run it for each pair of rows.

    Fixtures are shared by the rows, but `monkeypatch` and `tmp_path`: each row has its own.
    """
    own = list(table)
    told = ids if ids is None or callable(ids) else list(ids)
    known = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    is_single = isinstance(names, str) and len(known) == 1

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        body, others = getattr(function, "rows", (function, lambda: [("", {})]))
        signature = inspect.signature(function)
        wanted = set(signature.parameters) | {"monkeypatch"} & set(inspect.signature(body).parameters)
        assert wanted.issuperset(known), f"{function.__name__} does not take {known}"
        assert not inspect.iscoroutinefunction(body), f"{function.__name__} is not awaited here"

        def table_of() -> Iterator[Row]:
            for (name, one), (other, values) in product(_named(known, is_single, own, told), others()):
                yield (f"{other}-{name}" if other else name), {**one, **values}

        @functools.wraps(function)
        def test(*args: Any, tmp_path: Any = None, **fixtures: Any) -> None:
            __tracebackhide__ = True
            numbers = count()

            def check(arguments: dict[str, Any]) -> None:
                __tracebackhide__ = True
                with pytest.MonkeyPatch.context() as patch:
                    if "tmp_path" in wanted:
                        arguments["tmp_path"] = tmp_path / str(next(numbers))
                        arguments["tmp_path"].mkdir()
                    if "monkeypatch" in wanted:
                        arguments["monkeypatch"] = patch
                    body(*args, **fixtures, **arguments)

            check_rows(table_of(), check)

        kept = [one for name, one in signature.parameters.items() if name not in {*known, "monkeypatch"}]
        vars(test).update(rows=(body, table_of), __signature__=signature.replace(parameters=kept))
        return test

    return decorate


def check_rows(named: Iterable[tuple[str, Any]], check: Callable[[Any], object]) -> None:
    """Check all rows, each with its id, and fail once with all that failed."""
    __tracebackhide__ = True
    only = os.environ.get("CORRIGIBLE_ROWS", "")
    tried = 0
    failed: list[str] = []
    for name, row in named:
        if only not in name:
            continue
        tried += 1
        try:
            check(row)
        except _CAUGHT as error:
            shown = pytest.ExceptionInfo.from_exception(error).getrepr(style="short") if len(failed) < SHOWN else ""
            failed.append(f"--- {name}\n{shown}" if shown else f"--- {name}")
            if _ends_at_first or str(error).startswith("Timeout ("):  # of pytest-timeout, which measures no more
                break
    if failed:
        pytest.fail("\n".join([f"{len(failed)} of {tried} rows failed", *failed]), pytrace=False)
    assert tried, "no rows"


def _named(
    known: Sequence[str], is_single: bool, table: Iterable[Any], ids: Callable[[Any], object] | Sequence[object] | None
) -> Iterator[Row]:
    """Yield each row with its id, which is made as pytest makes it."""
    for number, row in enumerate(table):
        name: object = None
        if isinstance(row, _Parameters):
            assert not row.marks, "a row has no marks"
            name, values = row.id, row.values
        else:
            values = (row,) if is_single else row
        if name is None and ids is not None and not callable(ids):
            name = ids[number]
        if name is None:
            texts = [ids(value) if callable(ids) else None for value in values]
            name = "-".join(
                str(value if isinstance(value, _PLAIN) else f"{one}{number}") if text is None else str(text)
                for one, value, text in zip(known, values, texts, strict=True)
            )
        yield str(name), dict(zip(known, values, strict=True))


_Parameters: Final = type(pytest.param())
