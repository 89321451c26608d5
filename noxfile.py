#!/usr/bin/env -S uv run --script

# /// script
# dependencies = ["nox>=2025.2.9"]
# ///

"""The targets of the Makefile for those without make: `nox -s tests` is `make test` without the linters.

`nox --list` says what there is. Each session has an environment of its own, with the versions of constraints.txt.
"""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PROJECT = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, *groups: str, extras: str = "[all]") -> None:
    """Editable setloss, with groups of pyproject.toml."""
    named = [word for group in groups for word in nox.project.dependency_groups(PROJECT, group)]
    session.install("-c", "constraints.txt", "-e", f".{extras}", *named)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All tests; words after -- go to pytest."""
    install(session, "test")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(python=PYTHONS, default=False)
def package(session: nox.Session) -> None:
    """Wheel, sdist and core tests in fresh environments; words after -- are jobs: core, oldest, ..."""
    session.run("python", "packaging/check.py", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """The documentation into docs/_build/html; warnings are errors."""
    install(session, "docs")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "docs/_build/html")


if __name__ == "__main__":
    nox.main()
