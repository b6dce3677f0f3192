"""An entry point whose module cannot be imported."""

raise RuntimeError("broken on purpose")
