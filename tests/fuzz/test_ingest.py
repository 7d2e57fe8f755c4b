"""Damaged files of all formats at once through the whole of an ingest: each is a run, a defect or a refusal."""

from __future__ import annotations

import random

from samework.ingest import registry
from samework.ingest.pipeline import ingest
from samework.store.connection import create_store
from samework.store.verify import verify_store
from tests.fuzz import lab, mutate

N_EACH = 3


def test_a_folder_of_damaged_files_of_every_format_is_taken_in(tmp_path):
    rng, n_files = random.Random(4), 0
    for name in sorted(registry.BUILT_IN):
        others = mutate.others_of(name)
        for sample in lab.samples(name):
            for number in range(N_EACH):
                if not sample.is_dir:
                    (tmp_path / "in").mkdir(exist_ok=True)
                    changed = mutate.mutant_files(rng, sample.files, others)
                    lab.write_sample(tmp_path / "in", f"{name}-{number}-{sample.name}", changed)
                    n_files += 1
    with create_store(tmp_path / ".samework") as handle:
        summary = ingest(handle, [tmp_path / "in"])
    assert verify_store(tmp_path / ".samework") == []
    assert summary.n_new > n_files / 10
