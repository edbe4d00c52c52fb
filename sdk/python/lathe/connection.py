"""Connections to the server: TCP, TLS (through the proxy that the environment names) or a Unix socket."""

import http.client
import socket
import urllib.parse
import urllib.request


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super(UnixConnection, self).__init__("localhost", timeout=timeout)
        self.socket_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self.socket_path)
        except OSError:
            self.sock.close()
            raise


class PlainConnection(http.client.HTTPConnection):
    """HTTP over TCP, without waiting to fill packets: requests are small and answered at once."""

    def connect(self) -> None:
        super(PlainConnection, self).connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def connect_to(address: str, timeout: float) -> http.client.HTTPConnection:
    """A connection, not opened yet. Example: `connect_to("unix:///run/lathe/api.sock", 30)`"""
    if address.startswith("unix://"):
        return UnixConnection(address[len("unix://") :], timeout)
    parts = urllib.parse.urlsplit(address)
    host = parts.hostname or "localhost"
    if parts.scheme != "https":
        return PlainConnection(host, parts.port, timeout=timeout)
    proxy = urllib.request.getproxies().get("https")
    if proxy and not urllib.request.proxy_bypass(host):
        way = urllib.parse.urlsplit(proxy if "//" in proxy else "http://" + proxy)
        connection = http.client.HTTPSConnection(way.hostname or proxy, way.port, timeout=timeout)
        connection.set_tunnel(host, parts.port or 443)
        return connection
    return http.client.HTTPSConnection(host, parts.port, timeout=timeout)
