"""What tests share: references by definition, strategies, data, the command line and the browser as functions."""
