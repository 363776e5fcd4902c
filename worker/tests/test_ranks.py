"""Helpers of several processes, as far as one process can check them; src/engine/torch/processes.parity.test.ts runs real ones."""

import asyncio
import os
import unittest
from unittest import mock

import numpy as np
import torch
from torch import nn

from ludus_worker.distributed import Group, local, whole
from ludus_worker.errors import LudusError
from ludus_worker.multi_tensor import Plain
from ludus_worker.protocol import messages
from ludus_worker.ranks import Ranks, _summed


class GroupTest(unittest.TestCase):
    def setUp(self):
        without = {name: value for name, value in os.environ.items() if name not in ("WORLD_SIZE", "RANK")}
        with mock.patch.dict(os.environ, without, clear=True):
            self.group = Group()

    def test_one_process_is_the_first_of_one(self):
        self.assertEqual((self.group.size, self.group.rank), (1, 0))
        self.assertEqual(self.group.gather("127.0.0.1:5"), ["127.0.0.1:5"])
        self.group.barrier()

    def test_tensors_that_are_not_sharded_are_whole_everywhere(self):
        tensor = torch.arange(6.0).view(2, 3)
        for result in (
            local(tensor),
            whole(tensor),
            self.group.own_sum(tensor),
            self.group.sum_everywhere(tensor),
            self.group.gathered(tensor, tensor),
            self.group.shard(tensor, tensor),
        ):
            self.assertIs(result, tensor)

    def test_the_norm_is_global(self):
        gradients = {"a": torch.tensor([3.0]), "b": torch.tensor([[0.0, 4.0]])}
        parameters = {name: nn.Parameter(torch.zeros_like(gradient)) for name, gradient in gradients.items()}
        self.assertEqual(self.group.gradient_norm(gradients, parameters, Plain().square_sum), 5.0)

    def test_squares_beyond_float32_do_not_overflow_the_norm(self):
        gradients = {"a": torch.full((4,), 1e25)}
        parameters = {"a": nn.Parameter(torch.zeros(4))}
        self.assertAlmostEqual(self.group.gradient_norm(gradients, parameters, Plain().square_sum) / 2e25, 1.0, places=6)

    def test_loopback_where_all_processes_are_on_one_machine(self):
        with mock.patch.dict(os.environ, {"LOCAL_WORLD_SIZE": "1"}):
            self.assertEqual(self.group.own_host(), "127.0.0.1")


def caller(name: str):
    async def call(method: str, request):
        return f"{name} {method}"

    return call


class SampleRankTest(unittest.TestCase):
    def setUp(self):
        self.ranks = Ranks(0, "token")

    def test_alone_everything_is_sampled_here(self):
        self.assertIsNone(self.ranks.for_sample("a"))
        self.assertIsNone(self.ranks.for_sample(""))

    def test_turns_of_a_rollout_go_to_the_same_rank(self):
        self.ranks.others = [caller("one"), caller("two")]
        for rollout in ("step0/task1/0", "step0/task1/1", "ü"):
            chosen = self.ranks.for_sample(rollout)
            for _ in range(3):
                self.assertIs(self.ranks.for_sample(rollout), chosen)

    def test_rollouts_are_spread_over_all_ranks(self):
        self.ranks.others = [caller("one"), caller("two")]
        named = {self.ranks.for_sample(f"rollout {i}") for i in range(30)}
        unnamed = [self.ranks.for_sample("") for _ in range(6)]
        self.assertEqual(len(named), 3)
        self.assertEqual([unnamed.count(rank) for rank in named], [2, 2, 2])


class OnAllTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.ranks = Ranks(0, "token")
        self.calls: list[str] = []

    def other(self, reply=None, error: Exception | None = None):
        async def call(name: str, request):
            self.calls.append(name)
            await asyncio.sleep(0)
            if error is not None:
                raise error
            return reply

        return call

    async def test_alone_only_this_process_is_called(self):
        async def here(request):
            return f"here: {request}"

        self.assertEqual(await self.ranks.on_all("Step", "request", here), "here: request")

    async def test_every_rank_is_called_and_the_first_replies(self):
        self.ranks.others = [self.other("one"), self.other("two")]

        async def here(request):
            return "first"

        self.assertEqual(await self.ranks.on_all("Step", None, here), "first")
        self.assertEqual(self.calls, ["Step", "Step"])

    async def test_numbers_of_a_forward_pass_are_added(self):
        def reply(values: list[float], alternatives: list[int]):
            tokens = np.array(alternatives, "<i4").tobytes()
            return messages.ForwardReply(logprobs=np.array(values, "<f4").tobytes(), alternative_tokens=tokens)

        # each rank has numbers for the rows it computed, and 0 elsewhere
        self.ranks.others = [self.other(reply([0, 0, -3], [0, 7]))]

        async def here(request):
            return reply([-1, -2, 0], [5, 0])

        total = await self.ranks.on_all("Forward", None, here)
        self.assertEqual(np.frombuffer(total.logprobs, "<f4").tolist(), [-1, -2, -3])
        self.assertEqual(np.frombuffer(total.alternative_tokens, "<i4").tolist(), [5, 7])
        self.assertEqual(total.values, b"")

    async def test_calls_follow_each_other_in_one_order_on_all_ranks(self):
        order: list[str] = []

        async def slow(name: str, request):
            order.append(f"{request} starts")
            await asyncio.sleep(0.001)
            order.append(f"{request} ends")

        self.ranks.others = [slow]

        async def here(request):
            return None

        await asyncio.gather(*(self.ranks.on_all("Step", number, here) for number in (1, 2)))
        self.assertEqual(order, ["1 starts", "1 ends", "2 starts", "2 ends"])

    async def test_what_all_refuse_is_refused_with_the_error_of_this_rank(self):
        own = LudusError("no-gradient", "a step without a gradient", "one")
        self.ranks.others = [self.other(error=RuntimeError("rpc failed"))]

        async def here(request):
            raise own

        with self.assertRaises(LudusError) as caught:
            await self.ranks.on_all("Step", None, here)
        self.assertIs(caught.exception, own)

    async def test_a_call_that_only_one_rank_refuses_ends_the_worker(self):
        self.ranks.others = [self.other("fine")]

        async def here(request):
            raise LudusError("no-gradient", "a step without a gradient", "one")

        class Stopped(BaseException):
            pass

        # going on would leave the ranks with different weights
        with mock.patch("ludus_worker.ranks.os._exit", side_effect=Stopped) as end, self.assertLogs("ludus", "CRITICAL"):
            with self.assertRaises(Stopped):
                await self.ranks.on_all("Step", None, here)
        end.assert_called_once_with(70)

    async def test_the_session_of_the_last_open_is_that_of_later_calls(self):
        self.ranks.others = [self.other(messages.State())]

        async def here(request):
            return messages.State()

        await self.ranks.on_all("Open", messages.OpenRequest(session="s"), here)
        self.assertEqual(self.ranks.session, "s")

    def test_replies_without_a_field_leave_it_empty(self):
        total = _summed([messages.ForwardReply(), messages.ForwardReply()])
        self.assertEqual(total, messages.ForwardReply())


if __name__ == "__main__":
    unittest.main()
