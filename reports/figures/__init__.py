"""Figures: frames in, matplotlib figures out, inlined as SVG."""

from reports.figures.device_time import draw_device_time
from reports.figures.epoch_savings import draw_epoch_savings
from reports.figures.forest import ForestRow, draw_forest
from reports.figures.margins import MarginRow, draw_margins, is_far
from reports.figures.optimism import draw_optimism, near_cells
from reports.figures.parallel_coordinates import describe_configurations, draw_configurations
from reports.figures.schedule import describe_schedule, draw_schedule
from reports.figures.seed_differences import SeedRow, draw_seed_differences
from reports.figures.step_curves import CurveAxes, draw_step_curves
from reports.figures.svg import inline_svg
from reports.figures.time_to_target import draw_time_to_target
from reports.figures.timeline import describe_timeline, draw_timeline

__all__ = [
    "CurveAxes",
    "ForestRow",
    "MarginRow",
    "SeedRow",
    "describe_configurations",
    "describe_schedule",
    "describe_timeline",
    "draw_configurations",
    "draw_device_time",
    "draw_epoch_savings",
    "draw_forest",
    "draw_margins",
    "draw_optimism",
    "draw_schedule",
    "draw_seed_differences",
    "draw_step_curves",
    "draw_time_to_target",
    "draw_timeline",
    "inline_svg",
    "is_far",
    "near_cells",
]
