"""Which lines of a Gemini CLI session in JSON Lines make it up, and which were taken back.

Only offsets and ids are kept. Refuses to keep more than `MAX_BRANCHES` branches; the rest are counted.
"""

from __future__ import annotations

from samework.decode.shapes import as_text

MAX_BRANCHES = 256


class Plan:
    """Which lines make up the session: the last line of each message, in the order in which messages began.

    branches: lines of what was taken back, with the number of those that the session shares.
    """

    def __init__(self) -> None:
        self.meta: dict[str, object] = {}
        self.model: str | None = None
        self.slots: list[int] = []
        self.is_reply: list[bool] = []
        self.names: list[str | None] = []
        self.place: dict[str, int] = {}
        self.branches: list[tuple[list[int], int]] = []
        self.n_beyond = self.n_values = 0

    def look(self, value: dict[str, object], offset: int) -> None:
        """Place one line."""
        self.n_values += 1
        back, changed, name = value.get("$rewindTo"), value.get("$set"), as_text(value.get("id"))
        if isinstance(back, str):
            self._take_back(self.place.get(back, 0))
        elif name is not None:
            if name in self.place:
                self.slots[self.place[name]] = offset
            else:
                self.place[name] = len(self.slots)
                self._add(offset, name, is_reply=value.get("type") == "gemini")
            self.model = self.model or as_text(value.get("model"))
        elif isinstance(changed, dict):
            self.meta |= {key: item for key, item in changed.items() if key != "messages"}
            if changed.get("messages"):
                self._add(offset, None, is_reply=False)
        elif "sessionId" in value:
            self.meta |= value
        else:
            self._add(offset, None, is_reply=False)  # what it is will be said when it is read

    def _add(self, offset: int, name: str | None, *, is_reply: bool) -> None:
        self.slots.append(offset)
        self.names.append(name)
        self.is_reply.append(is_reply)

    def _take_back(self, cut: int) -> None:
        if any(self.is_reply[cut:]):
            if len(self.branches) < MAX_BRANCHES:
                self.branches.append((list(self.slots), cut))
            else:
                self.n_beyond += 1
        for name in self.names[cut:]:
            if name is not None:
                self.place.pop(name, None)
        del self.slots[cut:], self.is_reply[cut:], self.names[cut:]
