"""Figures: frames in, matplotlib figures out, inlined as SVG."""

from reports.figures.device_time import draw_device_time
from reports.figures.epoch_savings import draw_epoch_savings
from reports.figures.score_vs_compute import draw_score_vs_compute
from reports.figures.svg import inline_svg

__all__ = ["draw_device_time", "draw_epoch_savings", "draw_score_vs_compute", "inline_svg"]
