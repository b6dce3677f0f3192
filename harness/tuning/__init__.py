"""Around Tune's searcher and scheduler: what is told, what is recorded, when a cell ends."""
