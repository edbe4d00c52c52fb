#!/usr/bin/env python3
"""The lint must find what it is there to find."""
import pathlib
import tempfile
import unittest

import layer_lint

TABLE = """
| folder | may include | what |
|---|---|---|
| base | | bottom |
| net | base | wire |
| cli | base net | top |

## The root
`docs`, `src` and `scripts`; also `README.md`.

## Later
`elsewhere`
"""


class LayerLint(unittest.TestCase):
    def complaints(self, files, table=TABLE):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {"docs/dev/layers.md": table, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return list(layer_lint.check_tree(root))

    def test_allowed_includes_pass(self):
        self.assertEqual([], self.complaints({"src/cli/a.cc": '#include "net/x.h"\n#include "cli/y.h"\n#include <vector>\n'}))

    def test_an_include_from_above_is_found(self):
        found = self.complaints({"src/base/a.h": '#pragma once\n  #  include "net/x.h"\n'})
        self.assertEqual(1, len(found))
        self.assertIn("base/ may not use net/", found[0])

    def test_our_own_header_in_angle_brackets_is_found(self):
        text = "#include <net/x.h>\n#include <net/if.h>\n#include <sys/socket.h>\n"
        found = self.complaints({"src/base/a.cc": text, "src/net/x.h": "#pragma once\n"})
        self.assertEqual(1, len(found))
        self.assertIn('Write #include "net/x.h"', found[0])

    def test_an_unknown_name_at_the_root_is_found(self):
        self.assertEqual([], self.complaints({"README.md": "", "scripts/deep/one.sh": ""}))
        found = self.complaints({"one.err": "", "elsewhere/a.txt": "", "README.md": ""})
        self.assertEqual(["elsewhere", "one.err"], [text.partition(":")[0] for text in found])
        for part in ("is not among the names", "by accident", "Remove it"):
            self.assertIn(part, found[1])

    def test_a_folder_without_a_row_is_found(self):
        self.assertIn("not in docs/dev/layers.md", self.complaints({"src/extra/a.cc": ""})[0])

    def test_asio_outside_its_folders_is_found(self):
        self.assertIn("Only rt/ and net/", self.complaints({"src/cli/a.cc": "#include <boost/asio/ip/tcp.hpp>\n"})[0])
        self.assertEqual([], self.complaints({"src/net/a.cc": "#include <boost/beast/http.hpp>\n"}))

    def test_a_long_file_is_found(self):
        self.assertIn("more than 800", self.complaints({"src/cli/a.cc": "int x;\n" * 801})[0])
        self.assertEqual([], self.complaints({"src/cli/a.cc": "int x;\n" * 799}))

    def test_a_path_of_one_machine_is_found(self):
        self.assertIn("/home/ann/data", self.complaints({"scripts/a.sh": "cd /home/ann/data\n"})[0])
        self.assertEqual([], self.complaints({"scripts/a.sh": 'cd "$HOME/work/data" /usr/bin /proc/self/exe ~/.local/state\n'}))

    def test_a_cycle_in_the_table_is_found(self):
        table = TABLE.replace("| base | | bottom |", "| base | net | bottom |")
        self.assertIn("stands above", self.complaints({}, table)[0])

    def test_a_missing_table_is_found(self):
        self.assertIn("no table", self.complaints({}, "nothing here")[0])


if __name__ == "__main__":
    unittest.main()
