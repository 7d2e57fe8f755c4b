"""Run every notebook here from a clean kernel: `run.py [--check] [NAME ...]`.

Writes the outputs into the notebooks. With `--check` it writes nothing and fails where a notebook raises, or where its
text is not the one that was committed. Pictures are held to be there, not to be the same bytes: fonts differ between
machines. Cells tagged `shared` need data that lies beside some checkouts only; elsewhere their text is not compared.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent / "shared"
TIME_LIMIT_S = 300
PICTURE = "image/png"


def executed(path: Path) -> Any:
    """The notebook with fresh outputs, by a kernel of this interpreter that starts with nothing.

    Raises: nbclient.exceptions.CellExecutionError: a cell raises.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=TIME_LIMIT_S,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    with tempfile.TemporaryDirectory() as home:
        # No profile, history or matplotlibrc of the person who runs this may reach the outputs.
        client.execute(env=os.environ | {"IPYTHONDIR": home, "MPLCONFIGDIR": home, "PYTHONHASHSEED": "0"})
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    return notebook


def shown(output: Any) -> str:
    """The text of one output; of a picture, that it is one."""
    if output["output_type"] == "stream":
        # What a library says of itself, such as that it builds its list of fonts, is no answer of a cell.
        return "" if output["name"] == "stderr" else str(output["text"])
    data = output["data"]
    if PICTURE in data:
        return "(picture)"
    return str(data.get("text/markdown", data["text/plain"]))


def text_lines(notebook: Any, *, with_shared: bool) -> list[str]:
    """Everything that the cells show, a line each, with the cell that it comes from."""
    lines = []
    for cell in notebook.cells:
        if cell.cell_type != "code" or (not with_shared and "shared" in cell.metadata.get("tags", [])):
            continue
        for output in cell.outputs:
            lines += [f"{cell.id}: {line}" for line in shown(output).splitlines()]
    return lines


def drift(path: Path, fresh: Any) -> list[str]:
    """Lines in which the committed notebook and a fresh run of it differ; none where they agree."""
    import nbformat

    committed = nbformat.read(path, as_version=4)
    with_shared = SHARED.is_dir()
    was, now = (text_lines(each, with_shared=with_shared) for each in (committed, fresh))
    return list(difflib.unified_diff(was, now, "committed", "now", n=0, lineterm=""))


def main(arguments: list[str] | None = None) -> int:
    """Run the notebooks that are named, or all; 1 where one drifted."""
    import nbformat

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the text differs")
    parser.add_argument("names", nargs="*", help="notebooks; all where none is named")
    options = parser.parse_args(arguments)
    status = 0
    for path in [Path(name) for name in options.names] or sorted(HERE.glob("*.ipynb")):
        fresh = executed(path)
        found = drift(path, fresh) if options.check else []
        if not options.check:
            nbformat.write(fresh, path)
        print(f"{path.name}: {'differs from what is committed; make notebooks' if found else 'ran'}")
        print(*found, sep="\n", end="\n" if found else "")
        status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main())
