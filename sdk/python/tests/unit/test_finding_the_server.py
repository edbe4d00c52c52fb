"""Where the server is found, and that a token goes nowhere else."""

import json
import os
import tempfile
import unittest
from unittest import mock

from lathe.errors import LatheError, Unavailable
from lathe.server import Server, check_private, find_server, read_token

TOKEN = "lathe_" + "a" * 43


class Finding(unittest.TestCase):
    def setUp(self):
        self.state = tempfile.mkdtemp()
        with open(os.path.join(self.state, "token"), "w") as file:
            file.write(TOKEN + "\n")

    def write_server(self, **told):
        with open(os.path.join(self.state, "server.json"), "w") as file:
            json.dump(told, file)

    def find(self, config=None, **variables):
        with mock.patch.dict(os.environ, variables):
            for name in (
                "LATHE_SERVER",
                "LATHE_STATE",
                "LATHE_TOKEN_FILE",
                "AZUREML_RUN_TOKEN",
                "AZUREML_SERVICE_ENDPOINT",
            ):
                if name not in variables:
                    os.environ.pop(name, None)
            return find_server(config)

    def test_the_state_folder_tells_anew_each_time(self):
        server = self.find(LATHE_STATE=self.state)
        self.write_server(url="http://127.0.0.1:1", socket="")
        self.assertEqual(server.locate().address, "http://127.0.0.1:1")
        self.write_server(url="http://127.0.0.1:2", socket="")
        self.assertEqual(server.locate(), ("http://127.0.0.1:2", TOKEN))
        os.remove(os.path.join(self.state, "server.json"))
        with self.assertRaisesRegex(Unavailable, "lathe up"):
            server.locate()

    def test_a_socket_is_preferred_where_it_can_be_used(self):
        server = self.find(LATHE_STATE=self.state)
        near, far = os.path.join(self.state, "s"), os.path.join(self.state, "s" * 120)
        for path in (near, far):
            open(path, "w").close()
        self.write_server(url="http://127.0.0.1:1", socket=near)
        self.assertEqual(server.locate().address, "unix://" + near)
        self.write_server(url="http://127.0.0.1:1", socket=far)
        self.assertEqual(server.locate().address, "http://127.0.0.1:1")

    def test_variables_win_over_a_config_file(self):
        config = {"server": "https://a:1", "token_file": "/x/token"}
        self.assertEqual(self.find(config).address, "https://a:1")
        self.assertEqual(self.find(config, LATHE_SERVER="https://b:2").address, "https://b:2")
        beside = {"server": "https://a:1", "token_file": os.path.join(self.state, "token")}
        self.write_server(url="http://127.0.0.1:1", socket="")
        self.assertEqual((self.find(beside).address, self.find(beside).state), ("", self.state))

    def test_inside_a_run_its_own_token_speaks(self):
        found = self.find(AZUREML_RUN_TOKEN="lathe_run", AZUREML_SERVICE_ENDPOINT="http://127.0.0.1:9")
        self.assertEqual(found.locate(), ("http://127.0.0.1:9", "lathe_run"))
        leaked = self.find(AZUREML_RUN_TOKEN="t", LATHE_SERVER="http://127.0.0.1:8", LATHE_STATE=self.state)
        self.assertEqual(leaked.locate(), ("http://127.0.0.1:8", "t"))

    def test_a_token_never_travels_in_clear(self):
        for address in (
            "http://example.org:80",
            "http://10.0.0.1",
            "http://127.0.0.1.evil.org",
            "http://[2001:db8::1]:80",
        ):
            with self.assertRaisesRegex(LatheError, "TLS"):
                check_private(address)
        for address in (
            "https://example.org",
            "http://127.0.0.1:80",
            "http://localhost:1/x",
            "http://[::1]:80",
            "unix:///x",
        ):
            check_private(address)

    def test_other_text_is_no_token(self):
        path = os.path.join(self.state, "other")
        with open(path, "w") as file:
            file.write("password")
        with self.assertRaisesRegex(LatheError, "holds no token"):
            read_token(path)
        with self.assertRaisesRegex(LatheError, "LATHE_TOKEN_FILE"):
            Server(address="unix:///x", token_file=path + "x").locate()


if __name__ == "__main__":
    unittest.main()
