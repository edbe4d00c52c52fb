"""Where the server is and who we are: found as the command line finds them.

Order: LATHE_SERVER, LATHE_STATE and LATHE_TOKEN_FILE; inside a run, the run's own address and token; the "lathe" part
of a workspace's config.json; the state folder of this user's own server (`lathe up`).
"""

import json
import os
import re
from typing import Any, Dict, NamedTuple, Optional

from lathe.errors import LatheError, Unavailable

TOKEN = re.compile(r"lathe_[A-Za-z0-9_-]{43}")
LONGEST_SOCKET = 107  # bytes; the kernel's limit
POINTING = "start one on this machine: lathe up. Another one is named by LATHE_SERVER=URL and LATHE_TOKEN_FILE=FILE"

Place = NamedTuple("Place", [("address", str), ("token", str)])


class Server:
    """A server that may move: each `locate()` looks anew, because a restarted server may have another port.

    Example: `Server(address="https://lathe.example:8443", token_file="ann.token").locate()`
    """

    def __init__(self, address="", token_file="", state="", token=""):
        # type: (str, str, str, str) -> None
        self.address, self.token_file, self.state, self.token = address, token_file, state, token

    def locate(self) -> Place:
        """The address to connect to now, and the token to show."""
        address = self.address or address_in(self.state)
        check_private(address)
        return Place(address, self.token or read_token(self.token_file or os.path.join(self.state, "token")))

    def identity(self) -> str:
        """What stays the same when the server restarts on another port."""
        return self.address or os.path.abspath(self.state)

    def url(self) -> str:
        """An address for people: the TCP one where there is one."""
        if self.address:
            return self.address
        try:
            return str(read_server_file(self.state).get("url") or "")
        except LatheError:
            return ""


def default_state() -> str:
    """The state folder of this user's own server."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "lathe")


def find_server(config: Optional[Dict[str, Any]] = None) -> Server:
    """The server to speak with. `config` is the "lathe" part of a config.json, if any."""
    env = os.environ
    address, state, token_file = env.get("LATHE_SERVER"), env.get("LATHE_STATE"), env.get("LATHE_TOKEN_FILE")
    run_token = env.get("AZUREML_RUN_TOKEN")
    if run_token and not token_file:
        endpoint = address or env.get("AZUREML_SERVICE_ENDPOINT")
        if endpoint:
            return Server(address=endpoint, token=run_token)
    if not address and not state and config and config.get("token_file"):
        token_file = token_file or str(config["token_file"])
        beside = os.path.dirname(token_file)
        # Where the token lies in a state folder of this machine, its server.json knows the address after a restart.
        if os.path.exists(os.path.join(beside, "server.json")) or os.path.exists(os.path.join(beside, "lathe.db")):
            return Server(token_file=token_file, state=beside)
        return Server(address=str(config.get("server") or ""), token_file=token_file, state=default_state())
    return Server(address=address or "", token_file=token_file or "", state=state or default_state())


def read_server_file(state: str) -> Dict[str, Any]:
    try:
        with open(os.path.join(state, "server.json"), "rb") as file:
            return dict(json.loads(file.read().decode("utf-8")))
    except (OSError, ValueError):
        raise Unavailable("no server runs on {}".format(state), "unavailable", POINTING)


def address_in(state: str) -> str:
    """The Unix socket of the server of a state folder where it can be used, else its URL."""
    found = read_server_file(state)
    socket_path = found.get("socket") or ""
    if 0 < len(os.fsencode(socket_path)) <= LONGEST_SOCKET and os.access(socket_path, os.W_OK):
        return "unix://" + socket_path
    return str(found.get("url") or "")


def read_token(path: str) -> str:
    """The token in a file. Any other text is not ours to send anywhere."""
    try:
        with open(path, "rb") as file:
            text = file.read(4096).decode("utf-8", "replace").strip()
    except OSError as problem:
        raise LatheError(
            "the token cannot be read: {}: {}".format(path, problem.strerror),
            "unauthorized",
            "LATHE_TOKEN_FILE names the file with your token; `lathe token create` makes one",
        )
    if not TOKEN.fullmatch(text):
        raise LatheError("{} holds no token of Lathe".format(path), "unauthorized", "`lathe token create` makes one")
    return text


def check_private(address: str) -> None:
    """On a network without TLS everybody on the way could read the token."""
    if not address.startswith("http://"):
        return
    host = address[len("http://") :].split("/", 1)[0]
    host = host[1:].split("]")[0] if host.startswith("[") else host.rsplit(":", 1)[0]
    if host == "localhost" or host == "::1" or re.fullmatch(r"127(\.\d+){3}", host):
        return
    raise LatheError(
        "{} is another machine, and without TLS the token would be readable on the network".format(address),
        "invalid",
        "use https://, or forward a port of this machine to it: ssh -L",
    )
