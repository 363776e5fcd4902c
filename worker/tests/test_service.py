"""The worker as clients see it: the service behind a real gRPC server on loopback, in this process."""

import asyncio
import gc
import json
import logging
import unittest
import weakref

import grpc
import numpy as np
from common import config

from ludus_worker.protocol import messages, methods, protocol, service
from ludus_worker.ranks import Ranks
from ludus_worker.service import ComputeThread, Service, server_options

token, session = "secret", "first"
prompt = [5, 9, 200, 17]


def integers(values: list[int]) -> bytes:
    return np.array(values, "<i4").tobytes()


def sample_request(max_tokens: int = 4, **options):
    return messages.SampleRequest(tokens=integers(prompt), max_tokens=max_tokens, seed=1, temperature=1.0, **options)


def group(numbers: list[int], max_tokens: list[int], rows: list[list[int]] | None = None, rollouts=None, **options):
    rows = rows or [prompt] * len(numbers)
    return messages.SampleGroup(
        options=messages.SampleOptions(**({"temperature": 1.0} | options)),
        numbers=integers(numbers),
        lengths=integers([len(row) for row in rows]),
        tokens=integers([token for row in rows for token in row]),
        max_tokens=integers(max_tokens),
        seeds=np.ones(len(numbers), "<f8").tobytes(),
        rollouts=rollouts or [""] * len(numbers),
    )


def replies_of(message) -> dict:
    """Tokens by number, or the message of a reply that has one of its own."""
    numbers, lengths, tokens = (np.frombuffer(part, "<i4") for part in (message.numbers, message.lengths, message.tokens))
    parts = np.split(tokens, np.cumsum(lengths)[:-1]) if len(numbers) else []
    return dict(zip(numbers.tolist(), parts)) | {reply.number: reply for reply in message.others}


class ServiceTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        logging.getLogger("ludus").setLevel(logging.CRITICAL)
        self.addCleanup(lambda: logging.getLogger("ludus").setLevel(logging.NOTSET))
        self.service = Service(token, Ranks(0, token))
        self.server = grpc.aio.server()
        self.server.add_generic_rpc_handlers((self.service.handler(),))
        port = self.server.add_insecure_port("127.0.0.1:0")
        await self.server.start()
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")

    async def asyncTearDown(self):
        await self.channel.close()
        await self.server.stop(None)

    def call(self, name: str, request=None, **metadata):
        kind, reply = methods[name]
        make = self.channel.stream_stream if name == "SampleMany" else self.channel.unary_unary
        method = make(
            f"/{service.full_name}/{name}",
            request_serializer=kind.SerializeToString,
            response_deserializer=reply.FromString,
        )
        values = {"ludus-token": token, "ludus-session": session} | {k.replace("_", "-"): v for k, v in metadata.items()}
        pairs = tuple((key, value) for key, value in values.items() if value is not None)
        return method(kind() if request is None else request, metadata=pairs)

    async def open(self, **options):
        raw = config | options.pop("config", {})
        fields = {"config_json": json.dumps(raw), "session": session, "device": "cpu", "threads": 1} | options
        return await self.call("Open", messages.OpenRequest(**fields))

    async def refused(self, code: str, call) -> dict:
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            await call
        [details] = [json.loads(value) for key, value in caught.exception.trailing_metadata() if key == "ludus-error-bin"]
        self.assertEqual(details["code"], code, details)
        return details

    # -- who may call

    async def test_a_wrong_token_is_refused_before_anything_else(self):
        for wrong in (None, "", "Secret"):
            for name in ("Hello", "Open", "Step"):
                await self.refused("wrong-token", self.call(name, ludus_token=wrong))

    async def test_without_the_token_no_message_is_read(self):
        read = []
        hello, _ = methods["Hello"]
        original = self.service.handler

        class Noticed(grpc.GenericRpcHandler):
            def service(inner, details):
                handler = original().service(details)
                return handler._replace(request_deserializer=lambda data: read.append(len(data)) or hello())

        server = grpc.aio.server(options=server_options)
        server.add_generic_rpc_handlers((Noticed(),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        large = bytes(64 * 2**20)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            method = channel.unary_unary(f"/{service.full_name}/Hello", request_serializer=lambda data: data)
            await self.refused("wrong-token", method(large, metadata=(("ludus-token", "wrong"),)))
            self.assertEqual(read, [])
            await method(b"12345", metadata=(("ludus-token", token),))
            self.assertEqual(read, [5])
        await server.stop(None)

    async def test_hello_needs_no_engine(self):
        reply = await self.call("Hello")
        self.assertEqual(reply.protocol, protocol)
        self.assertIn("torch", reply.versions)

    async def test_calls_before_open_say_that_there_is_no_engine(self):
        await self.refused("not-open", self.call("Step", ludus_session=None))
        await self.refused("not-open", self.call("Sample", sample_request(), ludus_session=""))

    async def test_a_client_that_opens_replaces_the_one_before(self):
        await self.open()
        waiting = self.call("Sample", sample_request(max_tokens=90))
        await asyncio.sleep(0)
        await self.open(session="second")
        await self.refused("session-replaced", self.call("Step"))
        try:
            await waiting  # it had ended before, or was told why not
        except grpc.aio.AioRpcError as error:
            self.assertEqual(error.details(), "session-replaced")
        reply = await self.call("Sample", sample_request(), ludus_session="second")
        self.assertEqual(reply.stop, "max-tokens")

    async def test_the_collector_passes_over_an_engine_until_another_replaces_it(self):
        self.addCleanup(gc.unfreeze)
        gc.unfreeze()
        await self.open()
        self.assertGreater(gc.get_freeze_count(), 10_000)
        first = weakref.ref(self.service.compute.engine)
        await self.open(session="second")
        self.assertIsNone(first())

    async def test_an_open_that_fails_leaves_no_half_open_engine(self):
        await self.open()
        await self.refused("unsupported-model", self.open(config={"model_type": "t5"}))
        await self.refused("not-open", self.call("Step", messages.StepRequest(learning_rate=1e-3)))
        await self.open()
        self.assertEqual((await self.call("Sample", sample_request())).stop, "max-tokens")

    # -- errors

    async def test_state_says_what_the_engine_is(self):
        state = await self.open(value_head=True)
        self.assertEqual((state.vocabulary_size, state.context_length, state.has_values), (300, 96, True))
        self.assertEqual((list(state.weights), state.policy_version), (["policy"], 0))
        self.assertEqual(state.device, "cpu, float32")

    async def test_bad_requests_are_answered_with_what_was_expected(self):
        await self.open()
        bad = {
            "token-out-of-range": sample_request(rollout="a"),
            "unknown-weights": sample_request(weights="nobody"),
            "no-tokenizer": sample_request(stop_strings=["."]),
        }
        bad["token-out-of-range"].tokens = integers([1, 300])
        for code, request in bad.items():
            details = await self.refused(code, self.call("Sample", request))
            self.assertTrue(details["got"] and details["expected"])
        await self.refused("unknown-weights", self.call("Step", messages.StepRequest(weights="nobody")))
        await self.refused("no-gradient", self.call("Step", messages.StepRequest(learning_rate=1e-3)))
        await self.refused("bad-snapshot", self.call("Snapshot", messages.SnapshotRequest(name="policy")))
        await self.refused("bad-release", self.call("Release", messages.ReleaseRequest(weights="policy")))
        await self.refused("unknown-forward", self.call("Backward", messages.BackwardRequest(id=9)))
        # and the engine still works
        self.assertEqual((await self.call("Sample", sample_request())).stop, "max-tokens")

    def forward(self, **options):
        fields = {"id": 1, "lengths": integers([4]), "tokens": integers(prompt), "mask": bytes([1] * 4), "temperature": 1.0}
        return self.call("Forward", messages.ForwardRequest(**(fields | options)))

    async def test_arrays_of_the_wrong_length_are_refused(self):
        await self.open()
        await self.refused("length-mismatch", self.forward(lengths=integers([5])))
        await self.refused("length-mismatch", self.forward(mask=bytes([1] * 3)))
        await self.refused("length-mismatch", self.forward(candidate_count=2, candidates=integers([1] * 7)))
        await self.refused("token-out-of-range", self.forward(candidate_count=1, candidates=integers([1, 2, 3, -1])))

    async def test_derivatives_of_the_wrong_length_are_refused_and_the_forward_pass_stays(self):
        await self.open()
        reply = await self.forward()
        self.assertEqual(len(np.frombuffer(reply.logprobs, "<f4")), 4)
        self.assertEqual((reply.values, reply.candidates), (b"", b""))
        short = np.ones(3, "<f4").tobytes()
        for name in ("logprobs", "entropies", "values", "candidates"):
            request = messages.BackwardRequest(id=1, **{name: short})
            await self.refused("length-mismatch", self.call("Backward", request))
        await self.call("Backward", messages.BackwardRequest(id=1, logprobs=np.ones(4, "<f4").tobytes()))
        report = await self.call("Step", messages.StepRequest(learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8))
        self.assertTrue(report.applied)
        self.assertEqual(report.policy_version, 1)

    async def test_an_unexpected_error_names_the_call_and_does_not_end_the_worker(self):
        await self.open()

        def broken(*_):
            raise ZeroDivisionError("by zero")

        self.service.compute.engine.snapshot = broken
        details = await self.refused("worker-error", self.call("Snapshot", messages.SnapshotRequest(name="a")))
        self.assertIn("ZeroDivisionError: by zero", details["got"])
        self.assertIn("snapshot()", details["expected"])
        self.assertEqual((await self.call("Sample", sample_request())).stop, "max-tokens")

    async def test_a_decode_step_that_fails_fails_its_requests_alone(self):
        await self.open()
        sampler = self.service.compute.engine.sampler
        step = sampler.step

        def broken():
            sampler.step = step
            raise RuntimeError("no kernel")

        sampler.step = broken
        details = await self.refused("worker-error", self.call("Sample", sample_request()))
        self.assertIn("no kernel", details["got"])
        self.assertEqual((await self.call("Sample", sample_request())).stop, "max-tokens")

    # -- samples

    async def test_replies_hold_all_that_was_asked_for(self):
        await self.open()
        reply = await self.call("Sample", sample_request(top_k=5, alternatives=3))
        sizes = {name: len(getattr(reply, name)) // 4 for name in ("tokens", "versions", "logprobs", "cut_logprobs")}
        self.assertEqual(set(sizes.values()), {4})
        self.assertEqual((len(reply.alternative_tokens) // 4, len(reply.alternative_logprobs) // 4), (12, 12))

    async def test_cancelling_a_call_frees_its_slot(self):
        await self.open(max_rows=1)
        await self.until(lambda: self.service.compute.engine is not None)
        call = self.call("Sample", sample_request(max_tokens=90, rollout="a"))
        await self.until(lambda: self.service.compute.engine.sampler.has_work)
        call.cancel()
        reply = await self.call("Sample", sample_request())
        self.assertEqual(reply.stop, "max-tokens")
        await self.until(lambda: not self.service.compute.engine.sampler.has_work)

    async def until(self, condition, seconds: float = 20.0) -> None:
        end = asyncio.get_running_loop().time() + seconds
        while not condition():
            self.assertLess(asyncio.get_running_loop().time(), end, "waited in vain")
            await asyncio.sleep(0.001)

    async def test_a_stream_answers_every_request_by_its_number(self):
        await self.open()
        batch = methods["SampleMany"][0]
        outgoing: asyncio.Queue = asyncio.Queue()

        async def requests():
            while (message := await outgoing.get()) is not None:
                yield message

        stream = self.call("SampleMany", requests())
        await outgoing.put(
            batch(groups=[
                group([4, 7, 9], [3, 3, 5], [prompt, [-1], prompt], stop_tokens=[299]),
                group([12], [4], top_k=5, alternatives=2),
            ])
        )  # fmt: skip
        replies = await self.collect(stream, 4)
        self.assertEqual((len(replies[4]), len(replies[9])), (3, 5))
        self.assertEqual(json.loads(replies[7].error_json)["code"], "token-out-of-range")
        self.assertEqual(replies[7].reply.stop, "")
        self.assertEqual(len(replies[12].reply.alternative_tokens) // 4, 8)

        # what is aborted gets no reply; the stream goes on
        await outgoing.put(batch(groups=[group([10], [90])]))
        await outgoing.put(batch(groups=[group([11], [2])], aborted=integers([10, 4, 1234])))
        self.assertEqual(set(await self.collect(stream, 1)), {11})
        await outgoing.put(None)
        self.assertIs(await stream.read(), grpc.aio.EOF)

    async def test_a_rollout_is_released_over_the_stream(self):
        await self.open()
        batch = methods["SampleMany"][0]
        outgoing: asyncio.Queue = asyncio.Queue()

        async def requests():
            while (message := await outgoing.get()) is not None:
                yield message

        stream = self.call("SampleMany", requests())
        await outgoing.put(batch(groups=[group([1, 2], [3, 3], rollouts=["a", "b"])]))
        await self.collect(stream, 2)
        self.assertEqual(len(self.service.compute.engine.sampler.rows.by_slot), 2)
        await outgoing.put(batch(released=["a", "never seen"]))
        await self.until(lambda: len(self.service.compute.engine.sampler.rows.by_slot) == 1)
        await outgoing.put(None)

    async def collect(self, stream, count: int) -> dict:
        found = {}
        while len(found) < count:
            found |= replies_of(await asyncio.wait_for(stream.read(), 20))
        return found

    async def test_a_stream_that_breaks_frees_the_slots_of_its_requests(self):
        await self.open(max_rows=2)
        batch = methods["SampleMany"][0]

        async def requests():
            yield batch(groups=[group([*range(5)], [90] * 5, rollouts=[f"r{i}" for i in range(5)])])
            await asyncio.sleep(60)

        stream = self.call("SampleMany", requests())
        await self.until(lambda: self.service.compute.engine.sampler.has_work)
        stream.cancel()
        await self.until(lambda: not self.service.compute.engine.sampler.has_work)

    async def test_a_stream_of_a_replaced_session_is_ended(self):
        await self.open()
        batch = methods["SampleMany"][0]

        async def requests():
            await self.open(session="second")
            yield batch(groups=[group([1], [4])])

        stream = self.call("SampleMany", requests())
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            await stream.read()
        self.assertEqual(caught.exception.details(), "session-replaced")


class ComputeThreadTest(unittest.IsolatedAsyncioTestCase):
    async def test_calls_run_in_order_and_errors_go_to_their_caller(self):
        thread, order = ComputeThread(), []

        def fail():
            raise KeyError("x")

        first = asyncio.ensure_future(thread.call(lambda: order.append(1)))
        failed = asyncio.ensure_future(thread.call(fail))
        last = asyncio.ensure_future(thread.call(lambda: order.append(2) or "done"))
        self.assertEqual(await last, "done")
        await first
        with self.assertRaises(KeyError):
            await failed
        self.assertEqual(order, [1, 2])

    async def test_a_posted_call_that_fails_does_not_end_the_thread(self):
        thread = ComputeThread()
        with self.assertLogs("ludus", "ERROR"):
            thread.post(lambda: 1 / 0)
            self.assertEqual(await asyncio.wait_for(thread.call(lambda: 7), 10), 7)


if __name__ == "__main__":
    unittest.main()
