"""Misspelt words of a command line: one line, with the word that was meant."""

from __future__ import annotations

import pytest

from corrigible.conformance import cli as conformance
from corrigible.proxy import cli as corrigible
from tests._support.rows import rows

MISTAKES = {
    "corrigible prxy": 'corrigible: "prxy" is none of ',
    "corrigible pack tst stripe": "corrigible pack: ",
    "corrigible proxy --upstrem http://a.test --pack stripe": "corrigible proxy: unknown option --upstrem",
    "corrigible sandbox stripe --prt=9": "corrigible sandbox: unknown option --prt",
    "corrigible pack lint --formt=x stripe": "corrigible pack lint: unknown option --formt",
    "corrigible proxy extra": "corrigible proxy: unexpected argument extra",
    "corrigible translate": "corrigible translate: missing: FILE",
    "conformance chek": 'conformance: "chek" is none of ',
    "conformance check --taget x": "conformance check: unknown option --taget",
}
MEANT = {
    "corrigible prxy": "proxy",
    "corrigible pack tst stripe": "test",
    "corrigible proxy --upstrem http://a.test --pack stripe": "--upstream",
    "corrigible sandbox stripe --prt=9": "--port",
    "conformance chek": "check",
    "conformance check --taget x": "--target",
}


@rows("line", MISTAKES)
def test_what_is_misspelt_is_one_line_with_what_was_meant(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, *words = line.split()
    with pytest.raises(SystemExit) as ended:
        (corrigible if command == "corrigible" else conformance).main(words)
    output = capsys.readouterr()
    assert (ended.value.code, output.out, output.err.count("\n")) == (2, "", 1)
    assert output.err.startswith(MISTAKES[line])
    assert f'did you mean "{MEANT[line]}"?' in output.err if line in MEANT else True
    assert output.err.endswith(" --help)\n")
