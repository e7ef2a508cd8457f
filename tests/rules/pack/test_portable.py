"""Files that YAML readers would disagree about."""

from __future__ import annotations

from pathlib import Path

from corrigible.rules.pack.portable import portability_problems
from tests._support.rows import rows


@rows(
    ("text", "problems"),
    [
        ("a: [1, 2.5, true, null, text, 2026-11-22, 'no', \"on\"]\n", []),
        (
            "a: 1\nb: {GET /x?page=2: 1}\n",
            ["2: PyYAML's own parser cannot read this: expected ',' or '}', but got '?'"],
        ),
        ("on: 1\n", ['1: "on" is a boolean in YAML 1.1 and text in YAML 1.2: quote it']),
        ("a:\n- [no]\n", ['2: "no" is a boolean in YAML 1.1 and text in YAML 1.2: quote it']),
        ("a: 4e21\n", ['1: "4e21" is text in YAML 1.1 and a number in YAML 1.2: quote it']),
        ("a: 1.20\n", ['1: "1.20" is the number 1.2: write that, or quote it if it is a text']),
        ("a: [1.0, 0.5, 20.25]\n", []),
        ("a: 010\n", ['1: "010" is octal in YAML 1.1 and decimal in YAML 1.2: quote it']),
        (
            "a: [x ? y : z]\n",
            [
                "1: PyYAML's own parser cannot read this: expected ',' or ']', but got '?'",
                '1: "x ? y: z" is read as a map: quote the expression',
            ],
        ),
        ("a: issue #5\n", ['1: the text ends before "#5", which YAML reads as a comment: quote it']),
        ("a: text  # a comment\n", []),
        ("a: 12:30\n", ['1: "12:30" is a whole number in YAML 1.1 and text in YAML 1.2: quote it']),
    ],
)
def test_a_file(tmp_path: Path, text: str, problems: list[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    assert [str(problem).removeprefix(f"{path}:") for problem in portability_problems(path)] == problems


def test_aliases_are_not_written_out(tmp_path: Path) -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    for name, text in (
        ("lists.yaml", "\n".join(["a0: &a0 [x, y]", *levels])),
        ("maps.yaml", "\n".join(["a0: &a0 {x: 1}", *(one.replace("[", "{k: [").replace("]", "]}") for one in levels)])),
        ("few.yaml", "a: &a {x: 1.20}\nb: [*a, *a, *a]"),
    ):
        (tmp_path / name).write_text(text)
        found = list(portability_problems(tmp_path / name))
        assert [one.problem.partition(":")[0] for one in found] == (
            ['"1.20" is the number 1.2'] if name == "few.yaml" else []
        )
