"""The worked trie of EXAMPLES 4, exactly; ends, prefixes and token-only forks."""

from __future__ import annotations

from samework.forks import first_divergence, forks
from samework.forks.graph import fork_graph
from tests.forklab import Made, completion, end, observation, system, user

CALL = ("bash", '{"command":"ls"}')
S, U = system("s"), user("u")
C1 = completion("c1", CALL, prompt_token_ids=(1, 2))
O1, O1X, O9 = observation("o1"), observation("o1x"), observation("o9")
C2 = completion("c2", prompt_token_ids=(1, 2, 3))
C3 = completion("c3", ("bash", '{"command":"pwd"}'), prompt_token_ids=(1, 2, 3))


def worked(**rest) -> list[Made]:
    return [
        Made("A1", [S, U, C1, O1, C2], end_reason="unrecorded", **rest),
        Made("A2", [S, U, C1, O1, C2], end_reason="unrecorded", **rest),
        Made("B1", [S, U, C1, O1, C3, O9], end_reason="unrecorded", **rest),
        Made("B2", [S, U, C1, O1X, C2], end_reason="unrecorded", **rest),
        Made("C1", [system("s2"), U, C1], end_reason="unrecorded", **rest),
    ]


def ways(node) -> set[tuple[str, ...]]:
    return {branch.runs for branch in node.branches}


def test_worked_trie_has_its_three_branch_nodes(made):
    root, call, later = forks(made(*worked()))
    assert (root.node, root.seq, root.event, root.origin) == ("", 0, "system", "input")
    assert ways(root) == {("A1", "A2", "B1", "B2"), ("C1",)}
    assert (call.seq, call.event, call.origin) == (3, "observation", "environment/workspace_unrecorded")
    assert ways(call) == {("A1", "A2", "B1"), ("B2",)}
    assert (later.seq, later.step, later.event, later.origin) == (4, 2, "completion", "model")
    assert ways(later) == {("A1", "A2"), ("B1",)}
    assert [node.tool_calls for node in (root, call, later)] == [False, False, True]
    assert [branch.action for branch in later.branches] == [{}, {"tool": "bash", "arguments": '{"command":"pwd"}'}]


def test_worked_trie_has_its_common_prefixes(made):
    handle = made(*worked())
    assert first_divergence(handle, 1, 2) is None
    assert [first_divergence(handle, 1, other).n_shared_events for other in (3, 4, 5)] == [4, 3, 0]
    place = first_divergence(handle, 1, 3)
    assert (place.event, place.origin, place.part, place.step) == ("completion", "model", "prose", 2)
    assert first_divergence(handle, 3, 1).a == place.b


def test_runs_of_different_tasks_make_no_fork(made):
    assert forks(made(Made("x", [S, C1], task="t1"), Made("y", [U, C1], task="t2"))) == []


def test_a_run_that_ended_itself_where_another_went_on_is_a_termination(made):
    for events in ([S, C1, O1], [S, C1, O1, end()]):
        handle = made(Made("x", events), Made("y", [S, C1, O1, C2, end()]))
        (node,) = forks(handle)
        assert (node.origin, node.event) == ("termination", "completion/end")
        assert first_divergence(handle, 1, 2).origin == "termination"


def test_a_run_that_was_cut_off_makes_no_fork(made):
    for reason in ("timeout", "crash", "cancelled", "log_truncated", "unrecorded"):
        for events in ([S, C1, O1], [S, C1, O1, end(reason)]):
            handle = made(Made("x", events, end_reason=reason), Made("y", [S, C1, O1, C2, end()]))
            assert forks(handle) == []
            assert first_divergence(handle, 1, 2) is None


def test_ends_told_in_other_words_are_one_end(made):
    handle = made(Made("x", [S, C1, end("finished")]), Made("y", [S, C1, end("done")]), Made("z", [S, C1]))
    assert forks(handle) == []
    assert first_divergence(handle, 1, 2) is None


def test_completions_that_read_the_same_part_by_their_tokens_once(made):
    def turn(text: str, *ids: int):
        return completion(text, token_ids=ids, prompt_token_ids=(1,), margins=(9.0,) * len(ids), margin_unit="nats")

    handle = made(
        Made("x", [S, turn("a", 1, 2), turn("b", 5)]),
        Made("y", [S, turn("a", 1, 3), turn("b", 6)]),
        Made("z", [S, turn("a", 1, 2), turn("b", 7)]),
    )
    first, second = forks(handle)
    assert first.node.endswith("/tokens")
    assert (first.seq, first.token_offset, ways(first)) == (1, 1, {("x", "z"), ("y",)})
    assert (second.seq, ways(second)) == (2, {("x",), ("z",)})
    assert first.margin_finding == "large_margin"
    assert first_divergence(handle, 1, 2).seq == 1
    assert first_divergence(handle, 1, 3).seq == 2


def test_token_ids_of_unknown_tokenizers_are_not_set_against_each_other(made):
    def run(name: str, token: int, tokenizer: str | None) -> Made:
        return Made(name, [S, completion("a", token_ids=(token,))], tokenizer=tokenizer)

    assert forks(made(run("x", 1, None), run("y", 2, None))) == []
    assert forks(made(run("x", 1, "one"), run("y", 2, "other"))) == []


def test_graph_is_the_compressed_trie(made):
    graph = fork_graph(made(*worked()), "t")
    assert sorted(data["role"] for _, data in graph.nodes(data=True)) == ["end"] * 4 + ["fork"] * 3 + ["start"]
    assert graph.number_of_edges() == graph.number_of_nodes() - 1
    leaves = {data["runs"] for _, data in graph.nodes(data=True) if data["role"] == "end"}
    assert leaves == {("A1", "A2"), ("B1",), ("B2",), ("C1",)}
