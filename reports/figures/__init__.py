"""Figures: frames in, matplotlib figures out, inlined as SVG."""

from reports.figures.device_time import draw_device_time
from reports.figures.epoch_savings import draw_epoch_savings
from reports.figures.forest import ForestRow, draw_forest
from reports.figures.optimism import draw_optimism, near_cells
from reports.figures.parallel_coordinates import describe_configurations, draw_configurations
from reports.figures.schedule import describe_schedule, draw_schedule
from reports.figures.step_curves import CurveAxes, draw_step_curves
from reports.figures.svg import inline_svg
from reports.figures.time_to_target import draw_time_to_target
from reports.figures.timeline import describe_timeline, draw_timeline

__all__ = [
    "CurveAxes",
    "ForestRow",
    "describe_configurations",
    "describe_schedule",
    "describe_timeline",
    "draw_configurations",
    "draw_device_time",
    "draw_epoch_savings",
    "draw_forest",
    "draw_optimism",
    "draw_schedule",
    "draw_step_curves",
    "draw_time_to_target",
    "draw_timeline",
    "inline_svg",
    "near_cells",
]
