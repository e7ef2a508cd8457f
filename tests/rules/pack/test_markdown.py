"""A pack as a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corrigible.rules.pack.load import load_pack
from corrigible.rules.pack.reference import page


def test_the_whole_page(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(
        manifest="lookups: ['/v1/things/{id}']\n",
        b="""\
            match: {operation: [Create, Update], status: 400, type: [z, y], message: '^no'}
            when: request.method == 'POST'
            lookup: {thing: {get: "'/v1/things/' + request.body.id"}}
            suggest:
              - {if: thing.left > 0, action: MODIFY_PARAMS, message: Take less., parameters: {amount: thing.left}}
              - one_of:
                  - {action: MODIFY_PARAMS, message: Take one., parameters: {amount: 1}}
                  - {action: WAIT_AND_RETRY, message: Wait.}
              - one_of: {each: "[1]", suggest: {action: MODIFY_PARAMS, message: Choose., parameters: {amount: choice}}}
            """,
        a="suggest: [{action: ESCALATE, actor: somebody_else, message: Ask.}]\n",
    )
    assert page(load_pack(folder)) == (
        "# Apex\n\nPack `apex` 2.1.0, 2 rules for Apex API. Licence: Apache-2.0.\n\n"
        "## About a\n\n`apex.a@2`, stable. It is a.\n\n- **ESCALATE**: Ask.\n\n<https://a.test>\n\n"
        "## About b\n\n`apex.b@2`, stable. It is b.\n\n"
        "- On operation `Create`, `Update`\n- On status `400`\n- On type `y`, `z`\n- On a message like `^no`\n"
        "- When `request.method == 'POST'`\n- Asks `GET '/v1/things/' + request.body.id`\n"
        "- **MODIFY_PARAMS** if `thing.left > 0`: Take less.\n- **MODIFY_PARAMS**: Take one.\n"
        "- **WAIT_AND_RETRY**: Wait.\n- **MODIFY_PARAMS**: Choose.\n\n<https://a.test>\n"
    )
