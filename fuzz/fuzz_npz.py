"""Fuzz the reader of NumPy archives of data."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("npz")
