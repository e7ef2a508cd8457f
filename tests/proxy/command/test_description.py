"""`corrigible description`: the examples of this project describe themselves."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
import yaml

from corrigible.proxy.cli import main


@pytest.mark.parametrize("api", ["acme", "recipe"])
def test_it_prints_the_description_as_json(api: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["description", api]) == 0
    written = files(f"corrigible.adapters.demo.{api}").joinpath("openapi.yaml").read_text("utf-8")
    assert json.loads(capsys.readouterr().out) == yaml.safe_load(written)


def test_what_others_made_has_a_description_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["description", "stripe"])
    assert "acme, recipe" in capsys.readouterr().err.replace("'", "")
