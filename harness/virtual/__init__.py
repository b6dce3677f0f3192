"""The virtual executor: Ray Tune's own controller, sessions in this process, a virtual clock."""
