"""Fuzz the reader of model files."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("skops")
