"""Writes a game for ALFWorld's own domain and grammar: python alfworld_game.py <folder>"""

import json
import pathlib
import sys

from alfworld.info import ALFRED_PDDL_PATH, ALFRED_TWL2_PATH

problem = """
(define (problem mug)
  (:domain alfred)
  (:objects
    agent1 - agent
    Mug_bar_1 - object
    MugType - otype
    Desk_bar_1 Shelf_bar_1 - receptacle
    DeskType ShelfType - rtype
    loc_0 loc_1 loc_2 - location)
  (:init
    (= (total-cost) 0)
    (receptacleType Desk_bar_1 DeskType) (receptacleType Shelf_bar_1 ShelfType)
    (objectType Mug_bar_1 MugType)
    (canContain DeskType MugType) (canContain ShelfType MugType)
    (pickupable Mug_bar_1)
    (atLocation agent1 loc_0)
    (receptacleAtLocation Desk_bar_1 loc_1) (receptacleAtLocation Shelf_bar_1 loc_2)
    (inReceptacle Mug_bar_1 Shelf_bar_1) (wasInReceptacle Mug_bar_1 Shelf_bar_1) (objectAtLocation Mug_bar_1 loc_2)
    (= (distance loc_0 loc_1) 1) (= (distance loc_1 loc_0) 1)
    (= (distance loc_0 loc_2) 1) (= (distance loc_2 loc_0) 1)
    (= (distance loc_1 loc_2) 1) (= (distance loc_2 loc_1) 1))
  (:goal (inReceptacle Mug_bar_1 Desk_bar_1)))
"""

folder = pathlib.Path(sys.argv[1]) / "pick_and_place_simple-Mug-None-Desk-1" / "trial_1"
folder.mkdir(parents=True)
grammar = pathlib.Path(ALFRED_TWL2_PATH).read_text().replace("UNKNOWN GOAL", "put a mug on the desk")
game = {"pddl_domain": pathlib.Path(ALFRED_PDDL_PATH).read_text(), "grammar": grammar, "pddl_problem": problem}
(folder / "game.tw-pddl").write_text(json.dumps({**game, "solvable": True}))
told = {"task_type": "pick_and_place_simple", "turk_annotations": {"anns": [{"task_desc": "Put a mug on the desk."}]}}
(folder / "traj_data.json").write_text(json.dumps(told))
