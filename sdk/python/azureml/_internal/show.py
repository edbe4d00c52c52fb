"""What notebooks show for an object: one HTML table."""

import html
from typing import List, Tuple


def html_table(pairs: List[Tuple[str, str]], links: Tuple[str, ...] = ()) -> str:
    """A table of one row; the columns named in `links` hold addresses. Example: `html_table([("Name", "ws")])`"""
    cells = []
    for name, value in pairs:
        text = html.escape(str(value))
        cells.append('<a href="{}" target="_blank">Link</a>'.format(text) if name in links and text else text)
    head = "".join("<th>{}</th>".format(html.escape(name)) for name, _ in pairs)
    body = "".join("<td>{}</td>".format(cell) for cell in cells)
    return '<table style="width:100%"><tr>{}</tr><tr>{}</tr></table>'.format(head, body)
