"""``doctor``: what this machine has, and what to do where ``run`` would not work."""
