"""The public reports' bugs as seeds in the embedded engine, each with the verdict it must get."""

from __future__ import annotations

from typing import Final

from ci.mutants.seed import Edit, Seed

E: Final = "stack/engine/"

SEEDS: Final = (
    Seed(
        "a failed room is forgotten",
        "tokenspeed#1427, smg#2463",
        (
            Edit(
                E + "bootstrap_server.py",
                "        self._remember(room, failure, sent)\n        if failure is not None:\n",
                "        if failure is None:\n"
                "            self._remember(room, failure, sent)\n        else:\n",
            ),
        ),
        "test_a_decode_that_comes_after_prefill_gave_up_is_told_so",
        "CAUGHT by waiting_timeout",
        router="sglang-router",  # the other one hangs up on the decode
    ),
    Seed(
        "an abort before the commit finds no receiver",
        "sglang#31965",
        (
            Edit(
                E + "decode_side.py",
                "        told = wanted.acknowledged or wanted.writer_stopped\n",
                "        told = wanted.acknowledged or wanted.writer_stopped\n"
                "        if failure and wanted.complete and not wanted.acknowledged:\n"
                "            import os\n"
                '            os.write(2, b"KeyError: no receiver for this room\\n")\n'
                "            os._exit(70)\n",
            ),
        ),
        "test_client_leaves_at_the_handover[before_the_acknowledgement]",
        "FALSE_ALARM by subprocess_watchdog",
    ),
    Seed(
        "bytes are counted before they can be seen",
        "kvcache-ai/vllm#3, sglang#26394",
        (
            Edit(
                E + "kv_receiver.py",
                "        if self._put(frame.page, frame.payload) != frame.checksum:\n",
                "        now_s = asyncio.get_running_loop().time()\n"
                '        paused = now_s - getattr(self, "seen_s", now_s) > 0.05\n'
                "        self.seen_s = now_s\n"
                "        if paused and frame.ordinal:\n"
                "            put = self._put, frame.page, frame.payload\n"
                "            asyncio.get_running_loop().call_later(0.6, *put)\n"
                "        elif self._put(frame.page, frame.payload) != frame.checksum:\n",
            ),
        ),
        "test_a_slow_kv_link_changes_no_token",
        "WRONG",
    ),
    Seed(
        "who is preempted waits for KV that is sent once",
        "vllm#53250",
        (
            Edit(
                E + "decode_scheduler.py",
                "        self._admit()\n        if not self._running:\n",
                "        self._admit()\n"
                "        if self._waiting and not self.pool.free and len(self._running) > 1:\n"
                "            newest, victim = self._running.popitem()\n"
                "            self.pool.give_back(victim.pages)\n"
                "            victim.pages = []\n"
                "            self._receiving[newest] = victim\n"
                "        if not self._running:\n",
            ),
        ),
        "test_a_full_pool_of_pages_lets_everybody_through",
        "SILENT",
    ),
    Seed(
        "full is told as an internal error",
        "smg#2565, sglang#39464",
        (
            Edit(
                E + "guards/admission_bounds.py",
                "            return Failure(self.name, why, UNAVAILABLE)\n",
                "            return Failure(self.name, why)\n",
            ),
        ),
        "test_a_worker_that_was_full_is_asked_again_at_once",
        "FALSE_ALARM by router_breaker",
        noticed_by=("tests/stack/engine/test_guards.py", "-k", "full_queue"),
    ),
    Seed(
        "a connection is kept for each transfer",
        "sglang#31208, Mooncake#2930",
        (
            Edit(
                E + "kv_receiver.py",
                "        finally:\n            writer.close()\n",
                "        finally:\n"
                '            self.__dict__.setdefault("kept", []).append(writer)\n',
            ),
        ),
        "test_forty_transfers_one_after_the_other_leave_nothing_open",
        "LEAKED",
    ),
    Seed(
        "the end of a connection is taken for the end of a transfer",
        "dynamo#9937",
        (
            Edit(
                E + "kv_receiver.py",
                "            frame = await read_frame(reader, begun)\n",
                "            try:\n                frame = await read_frame(reader, begun)\n"
                "            except EOFError:\n"
                "                self._arriving.finished(room, arrivals, 1)\n"
                "                raise\n",
            ),
        ),
        # A worker that is told to go drains: it cuts no transfer that this could hurt.
        "test_kv_link_cut_after_some_pages",
        "CAUGHT by kv_verification",
        suite="suites/test_transfer.py",
    ),
    Seed(
        "a stream that failed ends without a word",
        "atlas#540",
        (
            Edit(
                E + "counter.py",
                "            await stream.send(failure.body())\n",
                "            pass\n",
            ),
        ),
        "test_a_stream_that_is_given_up_never_just_ends",
        "WRONG",
    ),
    Seed(
        "after a pause, length is told as stop",
        "vllm#53269",
        (
            Edit(
                E + "counter.py",
                "            text = replies[index].take(said)\n            if not stream.begun:\n",
                "            text = replies[index].take(said)\n"
                "            now_s = asyncio.get_running_loop().time()\n"
                '            paused = now_s - getattr(stream, "heard_s", now_s) > 0.4\n'
                '            stream.paused = paused or getattr(stream, "paused", False)\n'
                "            stream.heard_s = now_s\n"
                '            if stream.paused and replies[index].reason == "length":\n'
                '                replies[index].reason = "stop"\n'
                "            if not stream.begun:\n",
            ),
        ),
        "test_a_pause_changes_no_finish_reason",
        "WRONG",
    ),
    Seed(
        "two timers listen to each other's variables",
        "vllm-ascend#7140",
        (
            Edit(
                E + "knobs.py",
                'Knob(_SGL + "WAITING_TIMEOUT", ',
                'Knob(_SGL + "BOOTSTRAP_TIMEOUT", ',
            ),
            Edit(
                E + "knobs.py",
                '        _SGL + "BOOTSTRAP_TIMEOUT",',
                '        _SGL + "WAITING_TIMEOUT",',
            ),
        ),
        "test_each_timer_obeys_its_own_variable",
        "FALSE_ALARM by bootstrap_timeout",
    ),
    Seed(
        "one token too many",
        "TensorRT-LLM#16691, sglang#7598",
        (
            Edit(
                E + "sequence.py",
                "        if len(self.output) >= order.tokens_max:\n",
                "        if len(self.output) > order.tokens_max:\n",
            ),
        ),
        "test_a_reply_is_exactly_as_long_as_was_asked[16]",
        "WRONG",
    ),
    Seed(
        "a gauge remembers the last batch",
        "sglang#31517",
        (
            Edit(
                E + "prefill_scheduler.py",
                "        return len(self._computing)\n\n    @property\n    def waiting",
                '        return getattr(self, "last", 0)\n\n    @property\n    def waiting',
            ),
            Edit(
                E + "prefill_scheduler.py",
                "        self._admit()\n        present",
                "        self._admit()\n        self.last = len(self._computing)\n        present",
            ),
        ),
        "test_an_idle_stack_shows_no_request",
        "LEAKED",
    ),
    Seed(
        "who leaves while queued stays queued",
        "sglang#17483",
        (
            Edit(
                E + "prefill_scheduler.py",
                "        self._waiting = deque(order for order in self._waiting"
                " if order.room != room)\n",
                "",
            ),
        ),
        "test_client_leaves_while_it_queues_behind_another",
        "LEAKED",
    ),
)
