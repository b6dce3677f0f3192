"""What a run folder holds, in the forms of other tools: trackers, Optuna, Ray Tune, tables."""
