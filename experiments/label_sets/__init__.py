"""Multi-label data: one protocol, the methods and competitors it compares, and its report."""
