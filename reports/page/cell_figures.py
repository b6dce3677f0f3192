"""Figures of single cells and trials: timelines, configurations, the schedule of a lineage."""

from __future__ import annotations

from reports import units
from reports.analysis.compute import useful_shares
from reports.analysis.configurations import ParallelPlot, parallel_plot
from reports.analysis.frames import CONFIG_PREFIX, records
from reports.analysis.schedule import schedule
from reports.analysis.timeline import (
    PIECE_KINDS,
    choose_cell,
    stretches,
    timeline,
    unplaced_seconds,
)
from reports.figures import (
    describe_configurations,
    describe_schedule,
    describe_timeline,
    draw_configurations,
    draw_schedule,
    draw_timeline,
)
from reports.figures.style import short
from reports.page.figure import PageFigure, Table, make_figure
from reports.page.study_figures import Subject

TABLE_TRIALS = 25


def timeline_views(subject: Subject) -> list[tuple[str, PageFigure]]:
    """The timelines of two strategies' median cells: (strategy, figure).

    Of the best one, and of the one that used its devices worst: where there is something to see.
    """
    analysis = subject.analysis
    useful = useful_shares(analysis.device_time_by_strategy)
    chosen = list(dict.fromkeys([*subject.order[:1], *useful.sort_values().index[:1]]))
    views: list[tuple[str, PageFigure]] = []
    for strategy in map(str, chosen):
        seed = choose_cell(analysis.finals, strategy, analysis.run.study.benchmark.mode)
        if seed is not None:
            views.append((short(strategy), _timeline(subject, strategy, seed, len(views) + 1)))
    return views


def _timeline(subject: Subject, strategy: str, seed: int, number: int) -> PageFigure:
    analysis = subject.analysis
    devices_per_slot = analysis.run.study.devices.per_slot
    cell = analysis.run.cells[strategy, seed]
    pieces = timeline(cell, devices_per_slot)
    final = analysis.finals
    (best,) = records(final[(final["strategy"] == strategy) & (final["seed"] == seed)])
    runs = stretches(cell, pieces, best["trial"])
    seconds = (pieces["end_s"] - pieces["start_s"]).groupby(pieces["kind"]).sum()
    total = float(seconds.sum())
    unplaced = {
        kind: value
        for kind, value in unplaced_seconds(cell, pieces, devices_per_slot).items()
        if value >= 0.001 * total
    }
    made_of = ", ".join(f"{kind} {units.seconds(value)}" for kind, value in unplaced.items())
    return make_figure(
        lambda layout: draw_timeline(pieces, runs, best["reported_s"], layout),
        key=subject.key(f"timeline-{number}"),
        title=f"Timeline of {strategy}, seed {seed}",
        reading="A lane per slot, from the cell's start to its end; what the slot did is its "
        "colour, and between trials there is a line.",
        alt=describe_timeline(pieces, runs),
        caption=f"{strategy}, seed {seed}: the cell whose final score is the strategy's median. "
        "Pieces too short to draw share a stretch of their lane, by height."
        + (f" Not placed in time by the records, slot-seconds: {made_of}." if made_of else ""),
        table=Table(
            "Slot-seconds by what was done",
            ["kind", "seconds", "share"],
            [
                [kind, units.seconds(seconds[kind]), units.percent(seconds[kind] / total)]
                for kind in PIECE_KINDS
                if kind in seconds
            ],
        ),
        data=pieces,
    )


def configurations_figure(subject: Subject) -> PageFigure | None:
    """Every trial's configuration, coloured by its score."""
    analysis = subject.analysis
    benchmark = analysis.run.study.benchmark
    frame = analysis.configurations
    if frame.empty or not benchmark.space:
        return None
    plot = parallel_plot(frame, benchmark.space, benchmark.metric, benchmark.mode)
    return make_figure(
        lambda layout: draw_configurations(plot, subject.styles, layout),
        key=subject.key("configurations"),
        title="Configurations by score",
        reading="A line per trial through its configuration; the lighter and yellower, the better. "
        "The last axis is the score, by rank.",
        alt=describe_configurations(plot),
        caption="Each trial with its best validation score. Marks: the best incumbent of each "
        "strategy." + _left_out(plot),
        table=_best_trials(subject, plot),
        data=plot.lines,
    )


def _left_out(plot: ParallelPlot) -> str:
    if not plot.left_out:
        return ""
    return (
        f" {len(plot.lines):,} of {len(plot.lines) + plot.left_out:,} trials: the best, and an "
        "even sample of the others by rank; results.parquet has all."
    )


def _best_trials(subject: Subject, plot: ParallelPlot) -> Table:
    space = subject.analysis.run.study.benchmark.space
    rows = [
        [
            row["strategy"], str(row["seed"]), str(row["trial"]), units.score(row["score"]),
            *(units.setting(row.get(f"{CONFIG_PREFIX}{name}")) for name in space),
        ]
        for row in records(plot.lines.head(TABLE_TRIALS))
    ]  # fmt: skip
    return Table(
        f"The best {len(rows)} trials", ["strategy", "seed", "trial", "best score", *space], rows
    )


def schedule_figure(subject: Subject) -> PageFigure | None:
    """The configurations along the lineage of the best incumbent of a strategy that changes them
    in the middle of a trial."""
    analysis = subject.analysis
    study = analysis.run.study
    changing = {s.name for s in study.strategies if s.changes_config}
    finals = analysis.finals[analysis.finals["strategy"].isin(changing)]
    if finals.empty:
        return None
    best = finals.sort_values(
        "validation_score", ascending=study.benchmark.mode == "min", kind="stable"
    )
    (row,) = records(best.head(1))
    cell = analysis.run.cells[row["strategy"], row["seed"]]
    frame = schedule(cell, study.benchmark.space, row["trial"], row["epoch"])
    if frame.empty:
        return None
    names = [column for column in frame if str(column).startswith(CONFIG_PREFIX)]
    return make_figure(
        lambda layout: draw_schedule(
            frame, study.benchmark.space, study.benchmark.metric, layout
        ),
        key=subject.key("schedule"),
        title=f"Schedule of the winning lineage of {row['strategy']}",
        reading="From left to right the training that the best weights went through; a dotted line "
        "is where they were taken over from another trial.",
        alt=describe_schedule(frame),
        caption=f"{row['strategy']}, seed {row['seed']}, trial {row['trial']}: the best incumbent "
        "of those strategies that change configurations in the middle of a trial.",
        table=Table(
            "The lineage, epoch by epoch",
            ["epoch", "trial", "taken over", study.benchmark.metric,
             *(str(name).removeprefix(CONFIG_PREFIX) for name in names)],
            [
                [
                    str(one["epoch"]), str(one["trial"]), "yes" if one["exploited"] else "",
                    units.score(one["validation_score"]),
                    *(units.setting(one[str(name)]) for name in names),
                ]
                for one in records(frame)
            ],
        ),
        data=frame,
    )  # fmt: skip
