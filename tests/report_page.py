"""A report as a browser would see it."""

import json
from html.parser import HTMLParser

from treerank import (
    report,
)


class _Page(HTMLParser):
    """Elements, attributes and text as a browser would see them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.data, self.by_id = [], [], "", {}
        self._inside, self._id = None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        self._inside = (tag, attrs)
        self._id = attrs.get("id", self._id)

    def handle_data(self, data):
        if self._inside and self._inside[0] == "script":
            if self._inside[1].get("id") == "data":
                self.data += data
        else:
            self.words.append(data)
            if data.strip():
                self.by_id.setdefault(self._id, data.strip())

    def handle_endtag(self, tag):
        self._inside = None


def read(model, x, y, **options):
    text = report(model, x, y, out=None, **options)
    page = _Page(text)
    return text, page, json.loads(page.data)
