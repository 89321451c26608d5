"""Model files whose schema was edited by hand."""

import json
import zipfile

from sklearn.linear_model import LogisticRegression

from setloss.io.models import save


def forged(path, **node):
    """A file whose first parameter is another node."""
    save(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), path)
    change(path, lambda schema: schema["content"]["content"].update(tol=node))


def change(path, edit):
    """Edit the schema of a file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    edit(schema)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | {"schema.json": json.dumps(schema).encode()}).items():
            archive.writestr(name, content)


def text(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def node(kind, loader, content=None, **more):
    """A node of a file, for a type or function by its name."""
    module, _, name = kind.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, "content": content} | more


def listed(*content, **more):
    return node("builtins.list", "ListNode", list(content), **more)


def table(keys="builtins.str", loader="TypeNode", **content):
    return node("builtins.dict", "DictNode", content, key_types=listed(*[node(keys, loader) for _ in content]))
