"""The JSON of three APIs: OpenAI completions, OpenAI chat, SGLang generate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

from stack.engine.asked import Asked
from stack.engine.reply import Reply

Object = dict[str, Any]


class ReplyShape(Protocol):
    def chunk(self, reply: Reply, text: str) -> Object:
        """One event of a stream; the last one of a reply carries its reason."""
        ...

    def usage(self, replies: Sequence[Reply]) -> Object | None:
        """A last event with token counts, where the client asked for one."""
        ...

    def whole(self, replies: Sequence[Reply]) -> Object | list[Object]: ...


def shape_for(asked: Asked) -> ReplyShape:
    if asked.api == "generate":
        return GenerateShape(asked)
    return ChatShape(asked) if asked.api == "chat" else CompletionShape(asked)


class CompletionShape:
    """https://platform.openai.com/docs/api-reference/completions."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._created = int(time.time())

    def chunk(self, reply: Reply, text: str) -> Object:
        return self._object([self._choice(reply, text)])

    def usage(self, replies: Sequence[Reply]) -> Object | None:
        if not self._asked.include_usage:
            return None
        return {**self._object([]), "usage": _usage(replies)}

    def whole(self, replies: Sequence[Reply]) -> Object:
        choices = [self._choice(reply, reply.text) for reply in replies]
        return {**self._object(choices), "usage": _usage(replies)}

    def _object(self, choices: list[Object]) -> Object:
        return _object(self._asked, "text_completion", self._created, choices)

    def _choice(self, reply: Reply, text: str) -> Object:
        return {
            "index": reply.index,
            "text": text,
            "logprobs": None,
            "finish_reason": reply.reason,
        }


class ChatShape:
    """https://platform.openai.com/docs/api-reference/chat: the first event names the role."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._created = int(time.time())
        self._greeted: set[int] = set()

    def chunk(self, reply: Reply, text: str) -> Object:
        delta: Object = {"content": text}
        if reply.index not in self._greeted:
            self._greeted.add(reply.index)
            delta = {"role": "assistant", **delta}
        choice = _chat_choice(reply, "delta", delta)
        return _object(self._asked, "chat.completion.chunk", self._created, [choice])

    def usage(self, replies: Sequence[Reply]) -> Object | None:
        if not self._asked.include_usage:
            return None
        empty = _object(self._asked, "chat.completion.chunk", self._created, [])
        return {**empty, "usage": _usage(replies)}

    def whole(self, replies: Sequence[Reply]) -> Object:
        choices = [
            _chat_choice(reply, "message", {"role": "assistant", "content": reply.text})
            for reply in replies
        ]
        whole = _object(self._asked, "chat.completion", self._created, choices)
        return {**whole, "usage": _usage(replies)}


class GenerateShape:
    """SGLang's own: events carry the whole text so far; one prompt, one object."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def chunk(self, reply: Reply, text: str) -> Object:
        return {**self._object(reply), "index": reply.index}

    def usage(self, replies: Sequence[Reply]) -> Object | None:
        return None

    def whole(self, replies: Sequence[Reply]) -> Object | list[Object]:
        objects = [self._object(reply) for reply in replies]
        return objects[0] if len(objects) == 1 else objects

    def _object(self, reply: Reply) -> Object:
        reason: Object | None = None
        if reply.reason is not None:
            reason = {"type": reply.reason, "length": len(reply.tokens)}
        return {
            "text": reply.text,
            "output_ids": list(reply.tokens),
            "meta_info": {
                "id": self._asked.request_id,
                "finish_reason": reason,
                "prompt_tokens": len(reply.order.tokens),
                "completion_tokens": reply.computed,
                "cached_tokens": 0,
            },
        }


def _object(asked: Asked, kind: str, created: int, choices: list[Object]) -> Object:
    return {
        "id": asked.request_id,
        "object": kind,
        "created": created,
        "model": asked.model,
        "choices": choices,
    }


def _chat_choice(reply: Reply, name: str, content: Object) -> Object:
    return {
        "index": reply.index,
        name: content,
        "logprobs": None,
        "finish_reason": reply.reason,
    }


def _usage(replies: Sequence[Reply]) -> Object:
    prompt = sum(len(reply.order.tokens) for reply in replies)
    computed = sum(reply.computed for reply in replies)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": computed,
        "total_tokens": prompt + computed,
    }
