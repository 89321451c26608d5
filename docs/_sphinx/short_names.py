"""`Dice` in a docstring means `setloss.Dice`, wherever it stands: a name that is documented once is linked.

The same holds for types in signatures, which Python knows by the module that defines them and users by another. What
`setloss.dask` names after an estimator does not count.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

_LINKED = ("class", "exception", "function")
"""Methods and attributes are not: their names are also those of parameters."""


def _resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement) -> Any:
    target = str(node.get("reftarget", ""))
    if node.get("refdomain") != "py" or ("." in target and not target.startswith("setloss.")):
        return None
    last = target.rsplit(".", 1)[-1]
    objects = env.domains.python_domain.objects.items()
    linked = {name: entry for name, entry in objects if entry.objtype in _LINKED and not entry.aliased}
    found = {name: entry for name, entry in linked.items() if name.endswith(f".{last}")}
    if len(found) > 1 and not target.startswith("setloss.dask."):
        found = {name: entry for name, entry in found.items() if not name.startswith("setloss.dask.")}
    if len(found) != 1:
        return None
    ((name, entry),) = found.items()
    return make_refnode(app.builder, str(node["refdoc"]), entry.docname, entry.node_id, [content], name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Asked for every name that Sphinx itself has not found."""
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
