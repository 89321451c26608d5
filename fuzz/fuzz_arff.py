"""Fuzz the reader of ARFF files."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("arff")
