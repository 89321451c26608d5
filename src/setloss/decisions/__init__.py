"""Decisions that know the set: count models, and the exact set of least expected loss for any loss of counts.

    P(y | x)  ~  exp( sum_i y_i s_i(x) + u_{|y|}(x) )        scores say which, potentials say how many
    A*  =  argmin_A  E l(y, A)                               decided for the loss, at prediction only

`decide` takes log-odds and log-potentials and returns the best sets with their expected losses; `CountModel` has the
partition function, marginals, count probabilities, and the likelihood with its gradients. `decide_samples` takes sets
drawn from a joint model instead, and `make_promise` says up to which expected loss answers can be trusted.
"""

from setloss.decisions.count_model import CountModel
from setloss.decisions.decision import Decision, decide, expected_losses, expected_losses_of
from setloss.decisions.promises import Promise, make_promise
from setloss.decisions.samples import SampleDecision, decide_samples

__all__ = [
    "CountModel",
    "Decision",
    "Promise",
    "SampleDecision",
    "decide",
    "decide_samples",
    "expected_losses",
    "expected_losses_of",
    "make_promise",
]
