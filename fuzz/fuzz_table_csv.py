"""Fuzz the reader of CSV tables of set functions."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("table.csv")
