"""Pages of the guide run in a folder of their own; only their pictures are kept."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))

from checked_pages import real_page, wrong_lines

PAGE = """# A page

```python
from pathlib import Path

Path("drawn.png").write_bytes(b"picture")
Path("report.html").write_text("page")
print(sorted(path.name for path in Path().iterdir()))
```

```text
['drawn.png']
```
"""


def test_files_that_a_page_writes_are_thrown_away_but_for_its_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("page.md").write_text(PAGE)
    assert "['drawn.png', 'report.html']" in real_page(Path("page.md"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md"]
    real_page(Path("page.md"), keep_pictures=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drawn.png", "page.md"]
    assert Path.cwd() == tmp_path


def test_a_page_that_shows_what_its_code_does_not_print_is_wrong(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    [line] = wrong_lines(page)
    assert "page says \"['drawn.png']\"" in line
    page.write_text(real_page(page))
    assert list(wrong_lines(page)) == []
