"""``setloss check``: the six verdicts on the command line."""

from typing import Annotated

import typer

from setloss.cli.commands import with_option_groups
from setloss.cli.errors import InputError
from setloss.cli.json_output import print_document, verdicts_document
from setloss.cli.set_function_options import SetFunctionOptions
from setloss.setfunctions.counts import TableTooLargeError
from setloss.setfunctions.properties import verdicts


@with_option_groups
def check(
    function: SetFunctionOptions,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """Is a loss submodular, supermodular, modular, symmetric, increasing, non-negative?

    Every no comes with a witness: a set A and elements i, j for which the law fails most.
    """
    given = function.read()
    try:
        found = verdicts(given.function)
    except TableTooLargeError as error:
        raise InputError(str(error)) from None
    if as_json:
        print_document(verdicts_document(found))
        return
    from setloss.cli.text_output import print_verdicts

    print_verdicts(found, given.title)
