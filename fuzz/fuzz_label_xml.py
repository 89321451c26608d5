"""Fuzz the reader of the XML files that name labels."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("xml")
