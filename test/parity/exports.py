"""Reads what `ludus export` wrote with the libraries of others. Prints one JSON value."""

import json
import sys

import pyarrow.parquet
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

board, episodes, chat = sys.argv[1:]
accumulator = EventAccumulator(board, size_guidance={"scalars": 0})
accumulator.Reload()
scalars = {
    tag: [[event.step, event.wall_time, event.value] for event in accumulator.Scalars(tag)]
    for tag in accumulator.Tags()["scalars"]
}
print(
    json.dumps(
        {
            "scalars": scalars,
            "episodes": pyarrow.parquet.read_table(episodes).to_pylist(),
            "messages": pyarrow.parquet.read_table(chat).column("messages").to_pylist(),
        }
    )
)
