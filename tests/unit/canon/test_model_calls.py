"""Model calls to events: tools told of by records of their own, without an id."""

from __future__ import annotations

from samework.canon.model_calls import Conversation, Message, ModelCall
from samework.model.events import Event, ToolCall
from samework.model.words import EventKind


def test_tools_without_ids_answer_the_oldest_open_call_of_their_name_however_many_there_are():
    n_calls = 4000  # to join what is answered and what is claimed for each call took a minute
    conversation, made = Conversation(), []
    for number in range(n_calls):
        asks = Message(EventKind.COMPLETION, calls=(ToolCall("f", "{}", f"c{number}"),))
        made += conversation.add(ModelCall(reply=asks))
        result = Message(EventKind.OBSERVATION, f"r{number}")
        made += conversation.tool("f", ToolCall("f", "{}"), result, None, 0)
    made += conversation.finish()
    answered = [each for each in made if isinstance(each, Event) and each.kind is EventKind.OBSERVATION]
    assert [(each.call_id, each.text) for each in answered] == [(f"c{n}", f"r{n}") for n in range(n_calls)]
