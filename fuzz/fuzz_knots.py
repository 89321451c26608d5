"""Fuzz the reader of the knots of cost curves."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("knots")
