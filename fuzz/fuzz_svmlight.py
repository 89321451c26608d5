"""Fuzz the reader of svmlight files."""

from harness import fuzz

if __name__ == "__main__":
    fuzz("svm")
