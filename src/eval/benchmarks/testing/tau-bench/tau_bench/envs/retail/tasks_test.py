from tau_bench.types import Action, Task

TASKS_TEST = [
    Task(
        user_id="ann_1",
        instruction="You are Ann. Cancel order W1, and ask what is paid back.",
        actions=[Action(name="cancel_order", kwargs={"order_id": "W1"})],
        outputs=["1200"],
    ),
    Task(
        user_id="ben_2",
        instruction="You are Ben. You want to cancel W2, which is not possible any more.",
        actions=[Action(name="transfer_to_human_agents", kwargs={"order_id": "W2"})],
        outputs=[],
    ),
]
