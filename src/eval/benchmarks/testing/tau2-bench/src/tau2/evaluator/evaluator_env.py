from types import SimpleNamespace


class EnvironmentEvaluator:
    @classmethod
    def calculate_reward(cls, environment_constructor, task, full_trajectory, solo_mode=False):
        predicted, gold = environment_constructor(solo_mode=solo_mode), environment_constructor()
        predicted.set_state(None, None, full_trajectory)
        for action in task.evaluation_criteria.actions:
            gold.make_tool_call(action["name"], requestor=action["requestor"], **action["arguments"])
        return SimpleNamespace(reward=float(predicted.db == gold.db))
