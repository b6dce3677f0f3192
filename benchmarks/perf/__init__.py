"""Scripts that measure the figures which the README quotes; no part of the harness."""
