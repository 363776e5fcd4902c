from tau_bench.envs.base import Env
from tau_bench.envs.retail.data import load_data
from tau_bench.envs.retail.tasks_test import TASKS_TEST
from tau_bench.envs.retail.tools import ALL_TOOLS


class RetailEnv(Env):
    def __init__(self, user_strategy, user_model, task_split, user_provider, task_index):
        assert (user_strategy, task_split) == ("human", "test")
        super().__init__(load_data, ALL_TOOLS, TASKS_TEST, "Cancel pending orders only.", task_index)
        self.terminate_tools = ["transfer_to_human_agents"]
