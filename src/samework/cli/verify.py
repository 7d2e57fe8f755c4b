"""`samework verify`."""

from __future__ import annotations

from samework.cli.options import JsonOption, StoreOption, opened

EXAMPLE = "samework verify"


def command(
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Hash everything again and hold it against the ledger.

    Rows of the database, ingested sources and Git objects are read whole. Nothing is repaired.

    Exit status: 0 whole; 2 something differs.
    """
    from samework.cli.output import console, print_json, print_wrapped
    from samework.text import counted, visible

    findings = opened(store).verify()
    if as_json:
        print_json([{"where": finding.where, "what": finding.what} for finding in findings])
    else:
        out = console()
        for finding in findings:
            print_wrapped(visible(f"{finding.where}: {finding.what}", one_line=True), out=out)
        said = f"{counted(len(findings), 'finding')}: the store is not what was written." if findings else "Whole."
        out.print(said)
    return 2 if findings else 0
