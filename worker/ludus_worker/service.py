"""The gRPC service: checks token and session, and turns messages into calls of the engine. The engine has a thread of its own."""

from __future__ import annotations

import asyncio
import gc
import hmac
import importlib.metadata
import json
import logging
import platform
import queue
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import contextmanager

import grpc
import numpy as np

from . import __version__
from .active_request import ActiveRequest
from .engine import Engine, EngineOptions
from .errors import LudusError, details_of
from .model import Lora
from .packing import TokenBatch
from .protocol import messages, methods, protocol, service
from .ranks import Ranks
from .sample_stream import SampleStream, reply_of, request_of
from .weight_set import StepOptions

log = logging.getLogger("ludus")
#: A message is held in memory whole. Only who has the token has one read at all.
message_bytes = 2**30
server_options = [("grpc.max_receive_message_length", message_bytes), ("grpc.max_send_message_length", -1)]


#: Seconds to wait for one more request, and for all of them together, while requests are waiting and nothing is decoded.
next_request, all_requests = 0.0005, 0.005


@contextmanager
def unscanned():
    """The garbage collector does not look again at what is made inside, modules and all. A pass over them takes longer than the rollouts of
    a step, and the objects of a few thousand requests bring one about. Those are collected less often, too: they end by themselves."""
    gc.unfreeze()
    gc.collect()
    yield
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


class ComputeThread:
    """Runs calls in sequence, and steps of the sampler in between."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.calls: queue.Queue[Callable[[], None]] = queue.Queue()
        #: Called after each call and step: what they have finished is sent together.
        self.flushes: set[Callable[[], None]] = set()
        threading.Thread(target=self._run, name="compute", daemon=True).start()

    def post(self, call: Callable[[], None]) -> None:
        self.calls.put(call)

    async def call(self, function: Callable):
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def settle(set_it: Callable, value) -> None:
            loop.call_soon_threadsafe(lambda: None if future.done() else set_it(value))

        def run() -> None:
            try:
                settle(future.set_result, function())
            except BaseException as error:
                settle(future.set_exception, error)

        self.post(run)
        return await future

    def _run(self) -> None:
        gathering_since = 0.0
        while True:
            busy = self.engine is not None and self.engine.sampler.has_work
            # requests arrive in bursts: those that are admitted together are prefilled together, and end together
            gathers = busy and self.engine.sampler.is_filling and time.monotonic() - gathering_since < all_requests
            try:
                call = self.calls.get(block=not busy or gathers, timeout=next_request if gathers else None)
            except queue.Empty:
                self._sample()
                self._flush()
                gathering_since = time.monotonic()
                continue
            if not busy:
                gathering_since = time.monotonic()
            try:
                call()
            except Exception:
                # nobody awaits a posted call, and without this thread every later one would wait forever
                log.error("a call failed\n%s", traceback.format_exc())
            self._flush()

    def _flush(self) -> None:
        for flush in tuple(self.flushes):
            flush()

    def _sample(self) -> None:
        try:
            self.engine.sampler.step()
        except Exception as error:
            log.error("sampling failed\n%s", traceback.format_exc())
            self.engine.sampler.fail(error)


class Service:
    def __init__(self, token: str, ranks: Ranks):
        self.token, self.ranks = token, ranks
        self.compute = ComputeThread()
        self.session = ""

    def handler(self):
        handlers = {}
        for name, (request, reply) in methods.items():
            streams = name == "SampleMany"
            make = grpc.stream_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
            handlers[name] = make(
                self._sample_many if streams else self._guarded(name),
                request_deserializer=request.FromString,
                response_serializer=reply.SerializeToString,
            )
        return Guard(self, grpc.method_handlers_generic_handler(service.full_name, handlers))

    def _guarded(self, name: str):
        method = getattr(self, name)

        async def call(request, context: grpc.aio.ServicerContext):
            try:
                self._check(name, dict(context.invocation_metadata() or ()))
                if self.ranks.is_first and name not in ("Hello", "Sample"):
                    return await self.ranks.on_all(name, request, method)
                return await method(request)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                await _refuse(context, name, error)

        return call

    async def _sample_many(self, batches, context: grpc.aio.ServicerContext):
        metadata = dict(context.invocation_metadata() or ())
        stream = SampleStream(self.compute.post, lambda: self.compute.engine, self.ranks.for_sample)
        self.compute.flushes.add(stream.flush)

        async def read() -> None:
            try:
                async for batch in batches:
                    # each time: another engine may have been opened since the call began
                    self._check("Sample", metadata)
                    stream.take(batch)
            finally:
                stream.end()

        reader = None
        try:
            self._check("Sample", metadata)
            reader = asyncio.ensure_future(read())
            async for replies in stream.outgoing():
                yield replies
            await reader
        except LudusError as error:
            await _refuse(context, "Sample", error)
        finally:
            if reader is not None:
                reader.cancel()
            self.compute.flushes.discard(stream.flush)
            stream.close()

    def has_token(self, metadata: dict[str, str]) -> bool:
        return hmac.compare_digest(metadata.get("ludus-token", "").encode(), self.token.encode())

    def _check(self, name: str, metadata: dict[str, str]) -> None:
        if name in ("Hello", "Open"):
            return
        if self.compute.engine is None:
            raise LudusError(
                "not-open", f"{name.lower()}() on a worker without an engine", "open() to succeed first",
                "The last open() may have failed: its error says why.",
            )
        if metadata.get("ludus-session", "") != self.session:
            raise LudusError(
                "session-replaced", "a call of an engine that this worker no longer serves", "calls of the engine opened last",
                "Another program has connected to the worker since; give each its own.",
            )

    # -- the methods of engine.proto

    async def Hello(self, request):
        def version(name: str) -> str:
            try:
                return importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                return "none"

        names = ("torch", "transformers", "peft", "safetensors", "grpcio")
        versions = {"python": platform.python_version(), **{name: version(name) for name in names}}
        return messages.HelloReply(protocol=protocol, worker_version=__version__, versions=versions)

    async def Open(self, request):
        lengths = np.frombuffer(request.token_lengths, "<i4")
        ends = np.cumsum(lengths)
        token_bytes = [request.token_bytes[end - length : end] for end, length in zip(ends, lengths)]
        lora = request.lora
        options = EngineOptions(
            config=json.loads(request.config_json) if request.config_json else None,
            folder=request.folder,
            value_head=request.value_head if request.HasField("value_head") else None,
            seed=request.seed,
            device=request.device,
            dtype=request.dtype,
            threads=request.threads,
            lora=Lora(lora.rank, lora.alpha, list(lora.targets)) if request.HasField("lora") else None,
            checkpoint_activations=request.checkpoint_activations,
            compile=request.compile if request.HasField("compile") else None,
            micro_batch_tokens=request.micro_batch_tokens,
            max_rows=request.max_rows,
            max_cache_bytes=request.max_cache_bytes,
            tokenizer_files=dict(request.tokenizer_files),
            token_bytes=token_bytes if token_bytes else None,
        )

        def open_engine() -> None:
            if self.compute.engine is not None:
                self.compute.engine.sampler.fail(LudusError("session-replaced", "a new engine", "the one before"))
            self.compute.engine = None
            with unscanned():
                self.compute.engine = Engine(options)

        await self.compute.call(open_engine)
        self.session = request.session
        return self._state()

    def _state(self):
        engine = self.compute.engine
        return messages.State(
            device=f"{engine.device}, {str(engine.dtype).removeprefix('torch.')}"
            + (f", {engine.group.size} processes" if engine.group.size > 1 else ""),
            vocabulary_size=engine.vocabulary,
            context_length=engine.context,
            parameters=engine.parameters,
            has_values=engine.has_values,
            policy_version=engine.policy_version,
            weights=list(engine.sets),
            implementation=engine.implementation,
        )

    async def Sample(self, request):
        elsewhere = self.ranks.for_sample(request.rollout)
        if elsewhere is not None:
            return await elsewhere("Sample", request)
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        started: list[ActiveRequest] = []

        def finish(result: ActiveRequest | Exception) -> None:
            def settle() -> None:
                if not future.done():
                    is_error = isinstance(result, Exception)
                    (future.set_exception if is_error else future.set_result)(result)

            loop.call_soon_threadsafe(settle)

        def start() -> None:
            try:
                started.append(self.compute.engine.sample(request_of(request), finish))
            except Exception as error:
                finish(error)

        self.compute.post(start)
        try:
            return reply_of(await future)
        except asyncio.CancelledError:
            self.compute.post(lambda: [self.compute.engine.sampler.abort(active) for active in started])
            raise

    async def Forward(self, request):
        rows = TokenBatch(
            lengths=np.frombuffer(request.lengths, "<i4").astype(np.int64),
            tokens=np.frombuffer(request.tokens, "<i4").astype(np.int64),
            mask=np.frombuffer(request.mask, np.uint8),
            candidate_count=request.candidate_count,
            candidates=np.frombuffer(request.candidates, "<i4").astype(np.int64) if request.candidate_count else None,
        )
        arguments = (request.id, rows, request.weights, request.temperature, request.alternatives, request.deferred)
        out = await self.compute.call(lambda: self.compute.engine.forward(*arguments))
        names = ("logprobs", "entropies", "values", "candidates", "alternative_tokens", "alternative_logprobs")
        found = {name: getattr(out, name) for name in names}
        return messages.ForwardReply(**{name: array.tobytes() for name, array in found.items() if array is not None})

    async def Backward(self, request):
        parts = {name: getattr(request, name) for name in ("logprobs", "entropies", "values", "candidates")}
        derivatives = {name: np.frombuffer(data, "<f4") if data else None for name, data in parts.items()}
        await self.compute.call(lambda: self.compute.engine.backward(request.id, derivatives))
        return self._state()

    async def Step(self, request):
        options = StepOptions(
            learning_rate=request.learning_rate,
            weight_decay=request.weight_decay,
            beta1=request.beta1,
            beta2=request.beta2,
            epsilon=request.epsilon,
            max_gradient_norm=request.max_gradient_norm if request.HasField("max_gradient_norm") else None,
        )
        norm, applied, clipped = await self.compute.call(lambda: self.compute.engine.step(request.weights, options))
        version = self.compute.engine.policy_version
        return messages.StepReply(gradient_norm=norm, applied=applied, clipped=clipped, policy_version=version)

    async def Snapshot(self, request):
        source = getattr(request, "from")
        await self.compute.call(lambda: self.compute.engine.snapshot(request.name, source, request.trainable))
        return self._state()

    async def Release(self, request):
        forwards = list(request.forwards)
        await self.compute.call(lambda: self.compute.engine.release(request.weights, request.rollout, forwards))
        return self._state()

    async def Save(self, request):
        await self.compute.call(lambda: self._save(request))
        return self._state()

    def _save(self, request) -> None:
        self.compute.engine.save(request.directory, request.adapter_only, request.weights_only, request.shared)

    async def Load(self, request):
        await self.compute.call(lambda: self.compute.engine.load(request.directory, request.fresh_optimizer))
        return self._state()


class Guard(grpc.GenericRpcHandler):
    """Refuses a call without the token by its metadata, before any of its message is read."""

    def __init__(self, guarded: Service, inner: grpc.GenericRpcHandler):
        self.guarded, self.inner = guarded, inner

    def service(self, handler_call_details):
        if self.guarded.has_token(dict(handler_call_details.invocation_metadata or ())):
            return self.inner.service(handler_call_details)

        async def refuse(_unread, context: grpc.aio.ServicerContext) -> None:
            error = LudusError(
                "wrong-token", "a call without the worker's token", "the token the worker was started with",
                "Pass torch({ connect, token }); the worker reads LUDUS_WORKER_TOKEN.",
            )
            await _refuse(context, handler_call_details.method, error)

        # a handler of streams is not given a message until it asks for one
        return grpc.stream_stream_rpc_method_handler(refuse)


async def _refuse(context: grpc.aio.ServicerContext, name: str, error: Exception) -> None:
    details = details_of(name, error)
    expected = isinstance(error, LudusError)
    status = grpc.StatusCode.FAILED_PRECONDITION if expected else grpc.StatusCode.INTERNAL
    trailer = (("ludus-error-bin", json.dumps(details).encode()),)
    await context.abort(status, details["code"], trailing_metadata=trailer)
