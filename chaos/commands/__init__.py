"""The subcommands of `python -m chaos`, one per file: each adds its options and does its work."""
