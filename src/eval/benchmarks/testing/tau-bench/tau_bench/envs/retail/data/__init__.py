import json
from pathlib import Path


def load_data():
    return {"orders": json.loads((Path(__file__).parent / "orders.json").read_text())}
