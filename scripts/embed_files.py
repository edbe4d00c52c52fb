#!/usr/bin/env python3
"""Writes a C++ file that carries other files: usage: embed_files.py HEADER NAMESPACE TYPE FUNCTION OUT FILE…

The result defines `std::span<const TYPE> FUNCTION()` over {name, bytes} pairs in the order of the names.
"""

import hashlib
import pathlib
import sys


def main(header, namespace, kind, function, out, *files):
    files = sorted(map(pathlib.Path, files), key=lambda path: path.name)
    arrays = [
        # The digest is for ccache, which does not look behind #embed and would give the object of other bytes.
        f"// {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        f"constexpr unsigned char kFile{number}[] = {{\n#embed \"{path.resolve()}\"\n}};\n"
        for number, path in enumerate(files)
    ]
    rows = [
        f'    {{"{path.name}", {{reinterpret_cast<const char*>(kFile{number}), sizeof kFile{number}}}}},\n'
        for number, path in enumerate(files)
    ]
    text = (
        f'#include "{header}"\n\n#pragma clang diagnostic ignored "-Wc23-extensions"\n\n'
        f"namespace {namespace} {{\nnamespace {{\n\n{''.join(arrays)}\n}}  // namespace\n\n"
        f"std::span<const {kind}> {function}() {{\n  static const {kind} kFiles[] = {{\n{''.join(rows)}  }};\n"
        f"  return kFiles;\n}}\n\n}}  // namespace {namespace}\n"
    )
    pathlib.Path(out).write_text(text)


main(*sys.argv[1:])
