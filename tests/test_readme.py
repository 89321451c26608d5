"""The snippets of README run as they stand."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_python_snippets_run_in_order(capsys):
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(snippets) >= 3
    names: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, str(README), "exec"), names)
    printed = capsys.readouterr().out
    assert "certified by closed form" in printed
    assert "NOT certified" not in printed
