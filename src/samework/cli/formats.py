"""`samework formats`."""

# ruff: noqa: TC001 (Typer reads annotations at run time)
from __future__ import annotations

from typing import TYPE_CHECKING

from samework.cli.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from samework.api.details import FormatInfo

EXAMPLE = "samework formats"


def command(
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the formats that can be read and what each can prove.

    A format proves what it records: one without token ids can never show that two runs are token-identical, one
    without a patch or tree leaves the work itself unknown.
    """
    from samework.api.formats import formats
    from samework.cli.output import print_json

    del store  # accepted everywhere, needed nowhere here
    found = formats()
    if as_json:
        print_json(found)
    else:
        _print(found)
    return 0


def _print(found: list[FormatInfo]) -> None:
    from samework.cli.output import console, print_wrapped

    out = console()
    for number, info in enumerate(found):
        if number:
            out.print()
        unproven = "" if info.proven else "  (no real sample was read yet)"
        print_wrapped(f"{info.title}{unproven}", out=out, lead=f"{info.name}  ")
        print_wrapped(info.detects, out=out, lead="  found by    ")
        yes = [name.replace("_", " ") for name, can in info.evidence.items() if can == "yes"]
        partly = [
            f"{name.replace('_', ' ')} ({can})" for name, can in info.evidence.items() if can not in {"yes", "no"}
        ]
        no = [name.replace("_", " ") for name, can in info.evidence.items() if can == "no"]
        for lead, names in (("  evidence    ", yes), ("  in part     ", partly), ("  cannot give ", no)):
            if names:
                print_wrapped(", ".join(names), out=out, lead=lead)
