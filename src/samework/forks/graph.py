"""The trie of one task as a graph to hand out and draw: runs of unforked events are drawn together into edges."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import networkx as nx

from samework.forks.nodes import forks
from samework.store.sql import load
from samework.text import shortened

if TYPE_CHECKING:
    from samework.model.results import ForkBranch, ForkNode
    from samework.store.connection import StoreHandle

_LABEL_LENGTH = 48


def fork_graph(handle: StoreHandle, task: str) -> nx.DiGraph[Any]:
    """The compressed trie of a task.

    Nodes: `start`, each branch node by its name, and one leaf per set of runs that went alike to the end. Attributes:
    `role` (start, fork, end), `runs` (run_ids), `n_runs`, `step`, `seq`, and for forks `origin`, `consequence`,
    `event`, `tool_calls`; for ends `arms`. Edges: `n_events` passed, `n_runs`, `label` (visible, short). Forks in token
    ids alone change no event and are left out; `forks` lists them.
    """
    runs = {
        run_id: (arm, n_events, n_steps)
        for run_id, arm, n_events, n_steps in handle.db.execute(
            load("samework.forks", "sql/graph_runs"), {"task": task}
        ).fetchall()
    }
    graph: nx.DiGraph[Any] = nx.DiGraph(task=task)
    graph.add_node("start", role="start", runs=tuple(sorted(runs)), n_runs=len(runs), step=0, seq=0)
    at = dict.fromkeys(runs, ("start", 0, ""))
    for node in sorted((n for n in forks(handle, task=task) if "/" not in n.node), key=lambda n: n.seq):
        _add_fork(graph, node, at)
    leaves: dict[tuple[str, int, str], list[str]] = {}
    for run_id, place in at.items():
        leaves.setdefault(place, []).append(run_id)
    for ordinal, ((parent, seq, label), members) in enumerate(sorted(leaves.items()), start=1):
        name = f"end-{ordinal}"
        last = max(runs[run_id][1] for run_id in members)
        graph.add_node(
            name,
            role="end",
            runs=tuple(sorted(members)),
            n_runs=len(members),
            seq=last,
            step=max(runs[run_id][2] for run_id in members),
            arms=dict(sorted(Counter(runs[run_id][0] for run_id in members).items())),
        )
        graph.add_edge(parent, name, n_events=max(last - seq, 0), n_runs=len(members), label=label)
    return graph


def _add_fork(graph: nx.DiGraph[Any], node: ForkNode, at: dict[str, tuple[str, int, str]]) -> None:
    name = node.node or "root"
    members = [run_id for branch in node.branches for run_id in branch.runs]
    parent, seq, label = at[members[0]]
    graph.add_node(
        name,
        role="fork",
        runs=tuple(sorted(members)),
        n_runs=len(members),
        step=node.step,
        seq=node.seq,
        event=node.event,
        origin=node.origin,
        consequence=node.consequence.value,
        tool_calls=node.tool_calls,
    )
    graph.add_edge(parent, name, n_events=node.seq - seq, n_runs=len(members), label=label)
    for branch in node.branches:
        for run_id in branch.runs:
            at[run_id] = (name, node.seq, _label(branch))


def _label(branch: ForkBranch) -> str:
    if branch.action:
        return shortened(f"{branch.action['tool']} {branch.action['arguments']}", _LABEL_LENGTH)
    return shortened(branch.excerpt, _LABEL_LENGTH)
