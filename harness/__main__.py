"""``python -m harness``."""

import sys

OURS = ("harness", "strategies", "benchmarks", "reports")

try:
    from harness.cli import main
except ModuleNotFoundError as error:
    # What every command needs, `doctor` too, is not there: nothing is left that could say more.
    if error.name is None or error.name.split(".")[0] in OURS:
        raise
    sys.exit(f"error: {error}: pip install tune-bench-harness, or `make setup` in a checkout")

if __name__ == "__main__":
    main()
