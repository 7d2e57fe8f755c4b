"""Run bundles: a directory, or an archive of one, whose run.json says whose run it is and where its parts lie.

Names are relative to the bundle and may not leave it. What run.json leaves out is unknown; a part that it names and
that is not there is reported. Refuses a run.json that contradicts its schema, with the key that does.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, cast

import msgspec

from samework.decode.document import read_bytes, read_document, read_document_checked
from samework.errors import DamagedRecord, InputError
from samework.model.reader import Evidence
from samework.model.records import (
    Damage,
    Include,
    Invariant,
    ManifestFact,
    PatchRecord,
    RunEnd,
    RunStart,
    TreeRecord,
)
from samework.model.words import Absence, EndReason, FieldSource, RunKind
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

RUN = "run.json"
_CHUNK_BYTES = 1 << 20
_LEAF_KEYS = frozenset({"value", "source", "where", "absence"})
_END_REASONS: dict[str, EndReason] = {reason.value: reason for reason in EndReason}
_SOURCES = {source.value: source for source in FieldSource}
_ABSENCES = {absence.value: absence for absence in Absence}


class TreeReference(msgspec.Struct, frozen=True):
    """Where the resulting tree is: worktree; repo and commit; repo, base and patch; base and patch; or oid."""

    worktree: str | None = None
    repo: str | None = None
    commit: str | None = None
    base: str | None = None
    patch: str | None = None
    oid: str | None = None


_TREE_FORMS = frozenset(
    {
        frozenset({"worktree"}),
        frozenset({"worktree", "base"}),
        frozenset({"repo", "commit"}),
        frozenset({"repo", "commit", "base"}),
        frozenset({"repo", "base", "patch"}),
        frozenset({"base", "patch"}),
        frozenset({"oid"}),
        frozenset({"oid", "base"}),
    }
)


class TestsReference(msgspec.Struct, frozen=True):
    """A test report of the bundle, with the names of its suite and environment."""

    __test__ = False
    report: str
    suite: str | None = None
    env: str | None = None


class RunFile(msgspec.Struct, frozen=True):
    """The keys of run.json; every one may be left out."""

    task: str | None = None
    arm: str | None = None
    repeat: str | int | None = None
    run_id: str | None = None
    kind: RunKind = RunKind.CODING
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    recorder: str | None = None
    tokenizer: str | None = None
    base_commit: str | None = None
    started: str | None = None
    ended: str | None = None
    end_reason: str | None = None
    transcript: str | None = None
    manifest: str | None = None
    tree: TreeReference | None = None
    tests: list[TestsReference] = []
    invariants: dict[str, bool | None] | str | None = None
    extra: dict[str, object] | None = None


_KEYS = frozenset(RunFile.__struct_fields__)


class Bundle:
    """Reader of run bundles."""

    name = "bundle"
    title = "samework run bundle"
    detects = "a directory (or .zip of one) whose run.json is a JSON object with a key of the schema"
    proven = True
    evidence = Evidence(
        tokens="by its transcript",
        text="by its transcript",
        actions="by its transcript",
        raw_arguments="by its transcript",
        observations="by its transcript",
        reuse="by its transcript",
        base_commit="yes",
        patch="yes",
        tests="by its reports",
        outcome="by its reports",
    )

    def sniff(self, head: bytes, source: Source) -> float:  # noqa: ARG002 (a directory has no head)
        """0.95 for a directory whose run.json is an object with a known key; 0.6 where it is damaged."""
        if not source.is_dir:
            return 0.0
        try:
            found = source.child(RUN)
            if found is None:
                return 0.0
            value = read_document(found)
        except InputError:
            return 0.6  # `read` says what is wrong with it
        return 0.95 if isinstance(value, dict) and not _KEYS.isdisjoint(value) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the run that run.json describes and its parts, other readers' parts as `Include`.

        Raises: InputError: run.json is missing, damaged, or contradicts its schema.
        """
        file = source.child(RUN)
        if file is None:
            raise InputError("a bundle without run.json", place=visible(source.path))
        run, findings = _run_file(file)
        yield _start(run, source)
        yield from (Damage(0, 0, f"{RUN}: {finding}", code="odd-json", taints_run=False) for finding in findings)
        yield from _manifest(source, run)  # first: it may name the workspace that is masked in events
        if run.transcript is not None:
            yield from _include(source, run.transcript, "transcript", "transcript")
        if run.tree is not None:
            yield from _tree(source, run.tree)
        for place, report in enumerate(run.tests):
            yield from _include(source, report.report, f"tests[{place}].report", "tests", report)
        yield from _invariants(source, run)
        reason = _END_REASONS.get(run.end_reason or "", EndReason.UNRECORDED)
        yield RunEnd(reason, run.end_reason, run.ended)


def _run_file(file: Source) -> tuple[RunFile, list[str]]:
    """Decode run.json; keys that the schema does not know go to `extra`."""
    value, findings = read_document_checked(file)
    if not isinstance(value, dict):
        raise DamagedRecord("run.json holds no object", place=visible(file.path), code="bad-run-json")
    unknown = {key: given for key, given in value.items() if key not in _KEYS}
    try:
        run = msgspec.convert(value, RunFile)
    except msgspec.ValidationError as error:
        raise InputError(_sentence(str(error)), place=visible(file.path), code="bad-run-json") from error
    except UnicodeEncodeError as error:  # of a name, or of text in the place of something else
        reason = "a name or value holds half of a surrogate pair"
        raise InputError(reason, place=visible(file.path), code="bad-run-json") from error
    if run.tree is not None:
        given = frozenset(key for key in TreeReference.__struct_fields__ if getattr(run.tree, key) is not None)
        if given not in _TREE_FORMS:
            named = ", ".join(sorted(given)) or "nothing"
            raise InputError(
                f"key `tree` has {named}; it must be one of worktree, repo + commit, repo + base + patch, "
                "base + patch, or oid",
                place=visible(file.path),
                code="bad-run-json",
            )
    return msgspec.structs.replace(run, extra={**(run.extra or {}), **unknown} or None), findings


def _sentence(error: str) -> str:
    """A validation error as a sentence that begins with the key."""
    what, _, path = error.partition(" - at `")
    key = path.rstrip("`").removeprefix("$.")
    return f"key `{shortened(key, 80)}`: {shortened(what, 120)}" if key else shortened(what, 120)


def _start(run: RunFile, source: Source) -> RunStart:
    return RunStart(
        task=run.task,
        arm=run.arm,
        repeat=None if run.repeat is None else str(run.repeat),
        kind=run.kind,
        layout=Bundle.name,
        agent=run.agent,
        agent_version=run.agent_version,
        model=run.model,
        recorder=run.recorder,
        tokenizer=run.tokenizer,
        base_commit=run.base_commit or (run.tree.base if run.tree else None),
        repo=run.tree.repo if run.tree else None,
        started=run.started,
        ended=run.ended,
        content_sha256=_content_sha256(run, source),
        run_id=run.run_id,
        extra=run.extra,
    )


def _content_sha256(run: RunFile, source: Source) -> str:
    """sha256 over the sorted names and digests of run.json and the files that it refers to, hex."""
    patch = run.tree.patch if run.tree else None
    invariants = run.invariants if isinstance(run.invariants, str) else None
    given = {RUN, run.transcript, run.manifest, patch, invariants, *(test.report for test in run.tests)}
    whole = hashlib.sha256()
    for name in sorted(name for name in given if name):
        try:
            found = source.child(name)
        except InputError:
            continue  # reported where the part is read
        if found is not None:
            whole.update(name.encode("utf-8", "surrogatepass") + b"\0" + _sha256(found).encode() + b"\n")
    return whole.hexdigest()


def _sha256(source: Source) -> str:
    made = hashlib.sha256()
    with source.open() as stream:
        while part := stream.read(_CHUNK_BYTES):
            made.update(part)
    return made.hexdigest()


def _part(source: Source, name: str, key: str, *, taints_run: bool = False) -> Source | Damage:
    """A file that run.json names, or what is wrong with the name."""
    try:
        found = source.child(name)
    except InputError as error:
        return Damage(0, 0, f"{RUN}, key `{key}`: {error.message}", code="unsafe-name", taints_run=taints_run)
    if found is None:
        reason = f"{RUN}, key `{key}`: {shortened(name, 120)} is not in the bundle"
        return Damage(0, 0, reason, code="missing-file", taints_run=taints_run)
    return found


def _include(source: Source, name: str, key: str, role: str, report: TestsReference | None = None) -> Iterator[Record]:
    found = _part(source, name, key, taints_run=role == "transcript")
    if isinstance(found, Damage):
        yield found
    else:
        yield Include(name, role, report.suite if report else None, report.env if report else None)


def _tree(source: Source, tree: TreeReference) -> Iterator[Record]:
    """The tree; a patch is read here too, since it is evidence without its repository."""
    patch: bytes | None = None
    if tree.patch is not None:
        found = _part(source, tree.patch, "tree.patch")
        if isinstance(found, Damage):
            yield found
            yield PatchRecord(None, base_commit=tree.base, null_reason="patch_file_missing")
        else:
            patch = read_bytes(found)
            yield PatchRecord(patch, base_commit=tree.base)
    if tree.patch is None or (tree.repo is not None and patch is not None):
        yield TreeRecord(tree.worktree, tree.repo, tree.commit, tree.base, tree.patch, tree.oid)


def _invariants(source: Source, run: RunFile) -> Iterator[Record]:
    results: object = run.invariants
    if isinstance(results, str):
        name = results
        found = _part(source, name, "invariants")
        if isinstance(found, Damage):
            yield found
            return
        try:
            results = read_document(found)
        except DamagedRecord as error:
            yield Damage(0, found.size(), f"{shortened(name, 120)}: {error.message}", taints_run=False)
            return
    if results is None:
        return
    if not isinstance(results, dict):
        yield Damage(0, 0, "the invariants are no object of name and result", code="unusable-field", taints_run=False)
        return
    for invariant, value in results.items():
        if value is None or isinstance(value, bool):
            yield Invariant(invariant, value)
        else:
            reason = f"invariant {shortened(invariant, 80)!r}: its result is neither true, false nor null"
            yield Damage(0, 0, reason, code="unusable-field", taints_run=False)


def _manifest(source: Source, run: RunFile) -> Iterator[Record]:
    """Facts of manifest.json, and the model of run.json where the manifest does not name it."""
    fields: dict[str, object] = {}
    if run.manifest is not None:
        found = _part(source, run.manifest, "manifest")
        if isinstance(found, Damage):
            yield found
        else:
            try:
                fields = _flat(read_document(found), visible(found.path))
            except DamagedRecord as error:
                yield Damage(0, found.size(), f"{run.manifest}: {error.message}", taints_run=False)
    for field, given in fields.items():
        yield _fact(field, given, run.manifest or "")
    if run.model is not None and "model.id" not in fields:
        yield ManifestFact("model.id", run.model, FieldSource.DECLARED, where=RUN)


def _flat(value: object, place: str) -> dict[str, object]:
    """Nested objects as dotted names; an object of value, source, where or absence is one field."""
    if not isinstance(value, dict):
        raise DamagedRecord("the manifest holds no object", place=place)
    flat: dict[str, object] = {}
    pending = [(str(key), given) for key, given in reversed(value.items())]
    while pending:
        name, given = pending.pop()
        if isinstance(given, dict) and given and not _is_leaf(given):
            pending += [(f"{name}.{key}", below) for key, below in reversed(given.items())]
        else:
            flat[name] = given
    return flat


def _is_leaf(given: dict[str, object]) -> bool:
    return _LEAF_KEYS.issuperset(given) and ("value" in given or "absence" in given)


def _fact(field: str, given: object, where: str) -> Record:
    """One field. A bare value is declared; null is unrecorded."""
    if given is None:
        return ManifestFact(field, absence=Absence.UNRECORDED, where=where)
    if not isinstance(given, dict) or not _is_leaf(given):
        return ManifestFact(field, given, FieldSource.DECLARED, where=where)
    place = str(given.get("where") or where)
    absence, source, value = given.get("absence"), given.get("source"), given.get("value")
    if absence is not None or value is None:
        word = Absence.UNRECORDED if absence is None else _known(_ABSENCES, absence)
        if word is None or value is not None:
            return _bad_fact(field, "its absence is unknown or it has a value too", [*_ABSENCES])
        return ManifestFact(field, absence=cast("Absence", word), where=place)
    known = FieldSource.DECLARED if source is None else _known(_SOURCES, source)
    if known is None:
        return _bad_fact(field, f"source {shortened(str(source), 40)!r} is unknown", [*_SOURCES])
    return ManifestFact(field, value, cast("FieldSource", known), where=place)


def _known(words: dict[str, FieldSource] | dict[str, Absence], word: object) -> FieldSource | Absence | None:
    return words.get(word) if isinstance(word, str) else None


def _bad_fact(field: str, reason: str, known: list[str]) -> Damage:
    sentence = f"manifest field {shortened(field, 80)}: {reason}; known: {', '.join(known)}"
    return Damage(0, 0, sentence, code="unusable-field", taints_run=False)


READER = Bundle()
