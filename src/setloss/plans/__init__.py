"""From surrogates to fast cuts: plans say what is computed for every kind of bag, interpreters compute it."""
