"""Look for bytes that break a reader or a parser, guided by the lines that they reach.

Usage: python bench/fuzz.py [--seconds 60] [TARGET ...]. A target is the name of a reader, `detect` (every reader's
sniff), or one of the parsers of tests/fuzz/parsers.py; without names all are run, the longest code first. With atheris
(`pip install samework[fuzz]`) coverage guides; without it inputs are only mutated, and the output says so. Inputs begin
from tests/fuzz/samples and from faults found before; half of the mutations know JSON, lines and archives. What breaks a
promise is written to tests/fuzz/corpus/<target>, one file for each place that fails, where the suite replays it. Exits
with 1 where anything was found.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
CHILD = "FUZZ_CHILD"
MAX_INPUT_BYTES, MAX_MB, HANG_SECONDS = 20_000, 2500, 25
DETECT = "detect"
HAS_ATHERIS = find_spec("atheris") is not None

if TYPE_CHECKING:
    from collections.abc import Callable

if os.environ.get(CHILD) and HAS_ATHERIS:
    import atheris

    with atheris.instrument_imports(include=["samework"]):
        from samework.errors import InputError
        from samework.ingest import registry

        registry.readers()
        from tests.fuzz import lab, mutate, parsers
else:
    from samework.errors import InputError
    from samework.ingest import registry
    from tests.fuzz import lab, mutate, parsers


def targets() -> list[str]:
    """Readers by the length of their code, longest first, then `detect` and the parsers."""
    readers = registry.readers()
    return [*sorted(readers, key=lambda name: -_length(name)), DETECT, *parsers.TARGETS]


def _length(name: str) -> int:
    module = sys.modules[type(registry.reader(name)).__module__]
    parts = {each for each in vars(module).values() if inspect.isclass(each) or inspect.isfunction(each)}
    files = {inspect.getsourcefile(each) for each in parts if each.__module__.startswith("samework.readers.")}
    return sum(len(Path(file).read_bytes()) for file in files if file)


def check_of(target: str) -> Callable[[bytes], object]:
    """What is done with the bytes; raises where a promise is broken."""
    if target in parsers.TARGETS:
        return parsers.TARGETS[target]
    if target == DETECT:
        return detected
    reader = registry.reader(target)
    return lambda data: lab.judged(reader, {lab.FILE: data})


def detected(data: bytes) -> None:
    """Every reader says how sure it is."""
    try:
        source = lab.source_of({lab.FILE: data})
        head = source.head()
    except InputError:
        return
    for reader in registry.readers().values():
        try:
            assert 0 <= reader.sniff(head, source) <= 1
        except InputError:  # a member of an archive is damaged
            assert source.is_dir


def seeds_of(target: str) -> list[bytes]:
    """Inputs to begin from; a directory as the archive of its files."""
    if target in parsers.TARGETS:
        found = parsers.seeds(target)
    else:
        names = registry.names() if target == DETECT else [target]
        found = [_packed(sample) for name in names for sample in lab.samples(name)[: 3 if target == DETECT else None]]
    return found + [_packed(sample) for sample in lab.samples(target, lab.CORPUS)]


def _packed(sample: lab.Sample) -> bytes:
    return mutate.zipped(sample.files) if sample.is_dir else sample.data


class Findings:
    """Writes each fault once: by its kind and the innermost line of ours that raised it."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.places: set[str] = set()
        self.n_runs = 0

    def run(self, data: bytes) -> None:
        self.n_runs += 1
        try:
            self.check(data)
        except Exception as error:  # noqa: BLE001 (whatever a hostile input raises is the finding)
            self.keep(data, error)

    @property
    def check(self) -> Callable[[bytes], object]:
        return check_of(self.target)

    def keep(self, data: bytes, error: Exception) -> None:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(ROOT) in frame.filename]
        ours = [frame for frame in frames if "/samework/" in frame.filename] or frames
        where = f"{Path(ours[-1].filename).stem}-{ours[-1].name.strip('<>')}" if ours else "nowhere"
        place = f"{type(error).__name__}-{where}"
        if place in self.places:
            return
        self.places.add(place)
        name = f"{place}-{hashlib.sha256(data).hexdigest()[:8]}"
        lab.write_sample(lab.CORPUS / self.target, name, {lab.FILE: data})
        sys.stdout.write(f"FOUND {self.target} {name}: {type(error).__name__}: {str(error)[:160]!r}\n")
        sys.stdout.flush()


def child(target: str, seconds: int, folder: Path) -> None:
    """Fuzz one target in this process."""
    findings, seeds = Findings(target), seeds_of(target)
    for number, data in enumerate(seeds):
        (folder / f"{number:04}").write_bytes(data)
    if HAS_ATHERIS:
        _guided(findings, seeds, seconds, folder)
    _unguided(findings, seeds, seconds)


def _guided(findings: Findings, seeds: list[bytes], seconds: int, folder: Path) -> None:
    def mutated(data: bytes, max_bytes: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return atheris.Mutate(data, len(data))[:max_bytes]
        return mutate.mutant(rng, data, seeds)[:max_bytes]

    options = [
        str(folder), f"-max_total_time={seconds}", f"-max_len={MAX_INPUT_BYTES}", f"-timeout={HANG_SECONDS}",
        f"-rss_limit_mb={MAX_MB}", "-print_final_stats=1", f"-artifact_prefix={folder}/", "-verbosity=1",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], findings.run, custom_mutator=mutated)
    atheris.Fuzz()


def _unguided(findings: Findings, seeds: list[bytes], seconds: int) -> None:
    rng, began = random.Random(0), time.monotonic()
    while time.monotonic() - began < seconds:
        findings.run(mutate.mutant(rng, rng.choice(seeds), seeds)[:MAX_INPUT_BYTES])
    sys.stdout.write(f"stat::number_of_executed_units: {findings.n_runs}\n")


def fuzz(target: str, seconds: int) -> int:
    """Run one target in a process of its own and print what came of it. Returns the number of findings."""
    with tempfile.TemporaryDirectory(prefix="samework-fuzz-") as name:
        folder = Path(name)
        if not seeds_of(target):
            print(f"{target:22} no sample to begin from")
            return 0
        command = [sys.executable, __file__, target, "--seconds", str(seconds), "--folder", name]
        done = subprocess.run(
            command, env={**os.environ, CHILD: "1"}, capture_output=True, text=True, errors="replace", check=False
        )
        told = done.stdout + done.stderr
        found = re.findall(r"^FOUND .*$", told, re.MULTILINE)
        for path in [*folder.glob("timeout-*"), *folder.glob("oom-*"), *folder.glob("crash-*")]:
            lab.write_sample(lab.CORPUS / target, path.name[:24], {lab.FILE: path.read_bytes()})
            found.append(f"FOUND {target} {path.name[:24]}: took more than {HANG_SECONDS} s or {MAX_MB} MB, or died")
    n_runs = re.findall(r"stat::number_of_executed_units:\s*(\d+)", told) or re.findall(r"#(\d+)\s", told)
    edges = re.findall(r"cov: (\d+)", told)
    shown = f", {edges[-1]} edges reached" if edges else ""
    print(f"{target:22} {int(n_runs[-1]) if n_runs else 0:9,} executions{shown}, {len(found)} findings", flush=True)
    for line in found:
        print(f"    {line}")
    if not n_runs or done.returncode:
        print(f"    the fuzzer itself ended with status {done.returncode}: {told[-1000:]}")
    return len(found)


def main() -> int:
    """Run the targets one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if os.environ.get(CHILD):
        child(asked.targets[0], asked.seconds, asked.folder)
        return 0
    guided = "guided by coverage (atheris)" if HAS_ATHERIS else "NOT guided by coverage: atheris is not installed"
    print(f"{asked.seconds} seconds for each target, {guided}")
    return int(sum(fuzz(target, asked.seconds) for target in asked.targets or targets()) > 0)


if __name__ == "__main__":
    sys.exit(main())
