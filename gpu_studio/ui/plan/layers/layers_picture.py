"""Everything that the Layers tab shows of one plan."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.placement.memory import predict
from gpu_studio.placement.model_graph import ModelGraph
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.ui.plan.layers.board import Board, board_of
from gpu_studio.ui.plan.layers.drops import Ground, ground_of
from gpu_studio.ui.plan.layers.forecast import Forecast, forecast
from gpu_studio.ui.plan.layers.measurement import Measurement
from gpu_studio.ui.plan.plan_view import PlanView


@dataclass(frozen=True, slots=True)
class LayersPicture:
    """The lanes, what drops are judged by, and the forecast of a step.

    The forecast is None for a plan that has problems.
    """

    board: Board
    ground: Ground
    graph: ModelGraph
    forecast: Forecast | None


def layers_picture(
    view: PlanView, facts: PlanFacts | None, measured: Measurement | None
) -> LayersPicture | None:
    """What is shown of a plan under the strategy `placed`.

    None as long as its layers are not known.
    """
    if facts is None or facts.model is None or facts.graph is None or not facts.graph.layers:
        return None
    plan, machine = view.plan, view.machine
    found = None if view.problems else forecast(plan, machine, facts.model, measured)
    memory = {} if view.problems else {each.device: each for each in predict(plan, machine, facts)}
    board = board_of(plan, machine, facts.graph, found.shares if found else {}, memory)
    ground = ground_of(plan, machine, facts.model, facts.graph)
    return LayersPicture(board, ground, facts.graph, found)
