"""Look for texts whose reading takes more than time in proportion: a hostile word, four times as often.

Usage: python bench/growth.py [--seconds 60] [--seed 1]. A word that means something to one of the parsers is put into a
text of a sample 4,000 and 16,000 times; reading the second may take no more than ten times what the first took. Exits
with 1 where it does.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from samework.errors import InputError
from samework.ingest import registry
from tests.fuzz import lab, mutate

if TYPE_CHECKING:
    from samework.model.reader import Reader

FEW, MANY, MAX_RATIO, MIN_SECONDS = 4_000, 16_000, 10, 0.3
WORDS = (
    "<a>", "</a>", "<read_file>", "<path>", "[", "{", '"', "\\", "\x1b[", "- ", "\n", "ok 1\n", "@@ ", "```\n", "#### ",
    "> ", "aaa", "<<<<<<< SEARCH\n", "PASSED ", "::", " ... ok\n", "\u2028", "\u00e9", "0", ".", "/", "&lt;", "<task>",
)  # fmt: skip


def grown(sample: lab.Sample, word: str, rng: random.Random) -> list[bytes]:
    """The sample with the word put into one of its texts, few and many times."""
    data = sample.data
    lines = [line for line in data.splitlines() if line.strip()]
    try:
        document, is_lines = json.loads(data), False
    except ValueError:
        try:
            document, is_lines = [json.loads(line) for line in lines], True
        except ValueError:
            at = rng.randrange(len(data) + 1)
            return [data[:at] + (word * n).encode() + data[at:] for n in (FEW, MANY)]
    texts = [path for path in mutate.places(document) if isinstance(mutate.at_place(document, path), str)]
    if not texts:
        return []
    path = rng.choice(texts)
    changed = [mutate.replaced(document, path, mutate.at_place(document, path) + word * n) for n in (FEW, MANY)]
    return [_written(one, is_lines=is_lines) for one in changed]


def _written(document: Any, *, is_lines: bool) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in (document if is_lines else [document]))


def seconds(reader: Reader, data: bytes) -> float:
    """Of CPU, to be recognised and read."""
    began = time.process_time()
    try:
        source = lab.source_of({lab.FILE: data})
        reader.sniff(source.head(), source)
        for _ in reader.read(source):
            pass
    except InputError:
        pass
    return time.process_time() - began


def main() -> int:
    """Try words until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng, began, n_tried, n_found = random.Random(asked.seed), time.monotonic(), 0, 0
    text_like = [
        sample
        for name in registry.BUILT_IN
        for sample in lab.samples(name)
        if not sample.is_dir and not sample.data.startswith((b"PK", b"SQLite", b"\x28\xb5", b"\x1f\x8b"))
    ]
    while time.monotonic() - began < asked.seconds:
        sample, word = rng.choice(text_like), rng.choice(WORDS) + rng.choice(("", *WORDS))
        taken = [seconds(registry.reader(sample.reader), data) for data in grown(sample, word, rng)]
        n_tried += 1
        if taken and taken[1] > MIN_SECONDS and taken[1] > MAX_RATIO * taken[0]:
            n_found += 1
            print(f"{sample.reader} {sample.name} {word!r}: {taken[0]:.3f} s, then {taken[1]:.3f} s")
    print(f"{n_tried} texts grown four times, {n_found} took more than {MAX_RATIO} times as long")
    return int(n_found > 0)


if __name__ == "__main__":
    sys.exit(main())
