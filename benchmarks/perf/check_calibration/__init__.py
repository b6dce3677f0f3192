"""How often `harness check` is wrong: false alarms, and planted faults that it finds."""
