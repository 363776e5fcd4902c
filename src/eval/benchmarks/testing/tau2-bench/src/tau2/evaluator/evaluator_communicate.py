from types import SimpleNamespace

from tau2.data_model.message import UserMessage


class CommunicateEvaluator:
    @classmethod
    def calculate_reward(cls, task, full_trajectory):
        said = [each.content for each in full_trajectory if each.role == "assistant" and each.content]
        told = all(any(info in text for text in said) for info in task.evaluation_criteria.communicate_info)
        return SimpleNamespace(reward=float(told and any(isinstance(each, UserMessage) for each in full_trajectory)))
