"""A long run of random problems, each judged from its definition; see ``python -m benchmarks.soak --help``."""
