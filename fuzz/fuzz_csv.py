"""Fuzz the reader of CSV tables."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("csv")
