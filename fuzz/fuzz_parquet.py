"""Fuzz the reader of Parquet tables."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("parquet")
