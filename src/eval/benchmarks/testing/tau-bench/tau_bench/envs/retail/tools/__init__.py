import json


class GetOrder:
    @staticmethod
    def invoke(data, order_id):
        return json.dumps(data["orders"][order_id])

    @staticmethod
    def get_info():
        return describe("get_order", "What is known about an order")


class CancelOrder:
    @staticmethod
    def invoke(data, order_id):
        order = data["orders"][order_id]
        if order["status"] != "pending":
            return "Error: the order is not pending"
        order["status"] = "cancelled"
        return json.dumps(order)

    @staticmethod
    def get_info():
        return describe("cancel_order", "Cancels a pending order")


class TransferToHuman:
    @staticmethod
    def invoke(data, order_id):
        return "Transferred"

    @staticmethod
    def get_info():
        return describe("transfer_to_human_agents", "Hands the customer over")


def describe(name, description):
    parameters = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


ALL_TOOLS = [GetOrder, CancelOrder, TransferToHuman]
