"""Fuzz the reader of checkpoints."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("checkpoint.npz")
