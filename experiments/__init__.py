"""The paper's tables and figures, and the benchmarks on real data; imported by the command line only.

`reproduction.paper` has one file per artefact of the paper, `label_sets` and `tracks` one protocol each with the
methods and rules that are compared. What they share (estimates with standard errors, tables and figures, the choice
of C) is here.
"""
