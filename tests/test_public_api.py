"""What is public does not change by accident: the page of public names is compared with the package."""

import pytest

from helpers.public_api import PAGE, page

for library in ("torch", "distributed", "matplotlib"):
    pytest.importorskip(library)


def test_the_page_lists_every_public_name_with_its_signature():
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "public names have changed; if that is meant, run `PYTHONPATH=tests python -m helpers.public_api` and say it "
        "in CHANGELOG.md"
    )
