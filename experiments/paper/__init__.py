"""The paper's tables and figures, made again: one file per artefact, the paper's numbers in one data file."""
