"""What experiments share: estimates with standard errors, tables and figures, the protocols that choose C."""
