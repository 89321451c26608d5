"""Which loss to train a segmentation network with: the same small network, steps and rates for every loss."""
