"""Environments of the package verifiers: its own episodes, with its rubrics, in which Ludus' policy is the model.

A harness that runs in this process asks the model through verifiers' interception server, and what the server relays arrives at `Model`, which
waits for the policy.
"""

import asyncio
import contextlib
import functools
import importlib
import importlib.metadata
import itertools
import json
import os
import pkgutil
import queue
import sys
import threading
import types

from bridge_loop import MissingPackage, UnknownEnvironment, load

package = "verifiers"
# tasks of a taskset without an end that are drawn from
most_tasks = 1_000


def library():
    found = load("verifiers", package)
    try:
        return importlib.import_module("verifiers.v1")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("verifiers"):
            raise MissingPackage(f"verifiers>=0.4 (there is {getattr(found, '__version__', 'another')})") from error
        raise


class Verifiers:
    """One episode. The model is asked when it is the policy's turn."""

    @staticmethod
    def names():
        library()
        own = importlib.import_module("verifiers.v1.tasksets")
        return sorted({each.name.replace("_", "-") for each in pkgutil.iter_modules(own.__path__)} | set(installed()))

    def __init__(self, name, seed, options):
        library()
        self.world = world_of(name, json.dumps(options, sort_keys=True))
        task = self.world.tasks[seed % len(self.world.tasks)]
        self.events = queue.Queue()
        self.answer = None
        self.told = 0
        self.run = asyncio.run_coroutine_threadsafe(self.world.play(self, task), loop())
        self.run.add_done_callback(lambda run: self.events.put(None))
        messages = self.next_question()
        if messages is None:
            raise RuntimeError(f"the episode of {name} ended before the policy was asked: {self.why()}")
        self.say = spoken(messages)

    def next_question(self):
        # in short waits, as a thread that waits for ever cannot be interrupted
        while True:
            with contextlib.suppress(queue.Empty):
                return self.events.get(timeout=0.2)

    async def asked(self, messages):
        """By the server, on the loop."""
        self.answer = asyncio.get_running_loop().create_future()
        self.events.put(messages)
        return await self.answer

    def step(self, answer):
        waiting = self.answer
        loop().call_soon_threadsafe(lambda: waiting.done() or waiting.set_result(answer))
        messages = self.next_question()
        if messages is not None:
            return {"say": spoken(after_last_answer(messages)), "reward": 0.0, "done": False}
        episode = self.run.result()
        if not episode.traces or any(trace.errors for trace in episode.traces) or episode.errors:
            raise RuntimeError(self.why())
        return {"say": "", "reward": float(sum(trace.reward for trace in episode.traces)), "done": True}

    def why(self):
        if self.run.cancelled() or self.run.exception() is not None:
            return repr(None if self.run.cancelled() else self.run.exception())
        episode = self.run.result()
        errors = [*episode.errors, *(error for trace in episode.traces for error in trace.errors)]
        return "; ".join(f"{error.type}: {error.message}" for error in errors) or "no error"

    def close(self):
        self.run.cancel()


def installed():
    """Packages that say they need verifiers, and export a taskset."""
    for each in importlib.metadata.distributions():
        needs = (need.split(";")[0].strip() for need in each.requires or [])
        if any(need == package or need.startswith(f"{package}{sign}") for need in needs for sign in "<>=!~[ "):
            module = each.metadata["Name"].replace("-", "_").lower()
            spec = importlib.util.find_spec(module)
            if spec is not None:
                yield each.metadata["Name"]


def spoken(messages):
    return "\n\n".join(text for text in (text_of(each.get("content")) for each in messages) if text)


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def after_last_answer(messages):
    last = max((i for i, each in enumerate(messages) if each.get("role") == "assistant"), default=-1)
    return messages[last + 1 :]


@functools.cache
def loop():
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, daemon=True).start()
    return made


class Model:
    """An OpenAI-compatible server on loopback whose completions are the policy's answers."""

    def __init__(self):
        self.episodes = {}
        # a proxy is for what is elsewhere
        os.environ["NO_PROXY"] = ",".join(filter(None, [os.environ.get("NO_PROXY"), "127.0.0.1", "localhost"]))
        os.environ.setdefault("LUDUS_BRIDGE_KEY", "none")

    async def open(self):
        from aiohttp import web

        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self.complete)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return self

    async def complete(self, request):
        from aiohttp import web

        episode = self.episodes.get(request.headers.get("X-Session-ID"))
        if episode is None:
            return web.json_response({"error": {"message": "no such episode"}}, status=404)
        body = await request.json()
        text = await episode.asked(body["messages"])
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        head = {"id": "ludus", "object": "chat.completion", "created": 0, "model": body.get("model", "policy")}
        return web.json_response({**head, "choices": [choice], "usage": usage})


worlds_lock = threading.Lock()


@functools.cache
def model():
    return asyncio.run_coroutine_threadsafe(Model().open(), loop()).result()


def world_of(name, options):
    with worlds_lock:
        return opened_world(name, options)


@functools.cache
def opened_world(name, options):
    register_harness()
    return World(name, json.loads(options))


class World:
    """A taskset with its tasks, served once for all episodes."""

    def __init__(self, name, options):
        v1 = library()
        loaders = importlib.import_module("verifiers.v1.utils.loaders")
        try:
            loaders.import_taskset(name)
        except ModuleNotFoundError as error:
            if not (error.name or "").endswith(name.replace("-", "_").lower()) and "not found" not in str(error):
                raise
            raise UnknownEnvironment(name) from error
        config = loaders.env_config_type(name)
        seats = [field for field, info in config.model_fields.items() if isinstance(info.default, v1.AgentConfig)]
        if len(seats) != 1:
            raise ValueError(f"{name} has the roles {', '.join(seats)}; environments of one role can be played")
        if loaders.default_harness_id(name) != "bash":
            raise ValueError(f"{name} brings a program of its own, which asks the model itself; it cannot be played")
        seat = {"harness": {"id": "ludus-chat"}, "runtime": {"type": "subprocess"}, "model": "policy"}
        self.env = loaders.load_environment(
            loaders.resolve_env_config({"taskset": {"id": name, **options}, seats[0]: seat})
        )
        taskset = self.env.taskset
        if taskset.toolsets(taskset.config) or type(taskset).task_type().toolsets(taskset.config.task):
            raise ValueError(f"{name} has tools on MCP servers; environments without tools can be played")
        self.tasks = list(itertools.islice(taskset, None if taskset.bounded else most_tasks))
        if not self.tasks:
            raise ValueError(f"{name} has no tasks")
        client = v1.EvalClientConfig(base_url=model().url, api_key_var="LUDUS_BRIDGE_KEY")
        self.context = v1.ModelContext(model="policy", client=client)
        self.serving = self.env.serving()
        asyncio.run_coroutine_threadsafe(self.serving.__aenter__(), loop()).result()

    async def play(self, episode, task):
        minted = []

        def mint(trace):
            minted.append(trace.id)
            model().episodes[trace.id] = episode

        try:
            return await self.env.run_episode(task, self.context, on_trace=mint)
        finally:
            for each in minted:
                model().episodes.pop(each, None)


@functools.cache
def register_harness():
    """As a module that verifiers finds by its name."""
    import httpx
    from verifiers.v1.dialects.chat import message_to_wire

    v1 = library()

    class ChatConfig(v1.HarnessConfig):
        pass

    class Chat(v1.Harness[ChatConfig]):
        APPENDS_SYSTEM_PROMPT = True
        SUPPORTS_RESUME = True
        EXECUTES_CODE = False
        NEEDS_CONTAINER = False

        async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
            system, prompt = self.resolve_prompt(data)
            said = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else map(message_to_wire, prompt or [])
            messages = [*([{"role": "system", "content": system}] if system else []), *said]
            async with httpx.AsyncClient(timeout=None, trust_env=False) as http:
                response = await http.post(
                    f"{endpoint}/chat/completions",
                    headers={"authorization": f"Bearer {secret}"},
                    json={"model": ctx.model, "messages": messages},
                )
            isDone = response.status_code < 400
            return v1.ProgramResult(exit_code=0 if isDone else 1, stdout="", stderr="" if isDone else response.text)

    made = types.ModuleType("ludus_chat")
    made.LudusChat = Chat
    made.__all__ = ["LudusChat"]
    sys.modules["ludus_chat"] = made
