"""Bags of frames: one protocol, the methods it compares, and its report."""
