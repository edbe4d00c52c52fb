"""Network: namespaces that stand for other machines, on a bridge with the server; faults are made in the namespaces, so that
nothing else on this machine notices. Needs root, ip, iptables, tc."""

import contextlib
import os
import subprocess

from .paths import SUPPORT


def command(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True)


class Network:
    """Use as a context manager. `address` is the server's."""

    def __init__(self, machines=1):
        number = os.getpid() % 250 + 1
        self.count, self.prefix, self.bridge = machines, f"lt{os.getpid()}m", f"ltb{os.getpid()}"
        self.address, self.net = f"198.18.{number}.1", f"198.18.{number}"

    def __enter__(self):
        command("ip", "link", "add", self.bridge, "type", "bridge")
        command("ip", "addr", "add", f"{self.address}/24", "dev", self.bridge)
        command("ip", "link", "set", self.bridge, "up")
        for machine in range(self.count):
            space, end = self.space(machine), self.end(machine)
            command("ip", "netns", "add", space)
            command("ip", "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", space)
            command("ip", "link", "set", end, "master", self.bridge, "up")
            command("ip", "-n", space, "addr", "add", f"{self.net}.{machine + 2}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                command("ip", "-n", space, "link", "set", device, "up")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            command("ip", "link", "del", self.bridge, check=False)
            for machine in range(self.count):
                command("ip", "netns", "del", self.space(machine), check=False)

    def space(self, machine):
        return f"{self.prefix}{machine}"

    def end(self, machine):
        return f"{self.bridge}e{machine}"

    def launcher(self, port, certificate):
        """Site configuration under which runners live on these machines."""
        words = [SUPPORT / "elsewhere.sh", self.prefix, self.count, f"https://{self.address}:{port}", certificate]
        return {"providers": {"local": {"launcher": [str(word) for word in words]}}}

    # --- faults, each until heal()

    def _rule(self, machine, *words):
        command("ip", "netns", "exec", self.space(machine), "iptables", "-A", *words)

    def partition(self, machine, ways=("INPUT", "OUTPUT")):
        for chain in ways:
            self._rule(machine, chain, "-j", "DROP")

    def lose(self, machine, share):
        for chain in ("INPUT", "OUTPUT"):
            self._rule(machine, chain, "-m", "statistic", "--mode", "random", "--probability", share, "-j", "DROP")

    def reset(self, machine):
        """Every connection is answered with a reset."""
        self._rule(machine, "OUTPUT", "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset")

    def narrow(self, machine, rate="1mbit"):
        words = ("root", "tbf", "rate", rate, "burst", "32kbit", "latency", "400ms")
        command("tc", "qdisc", "replace", "dev", self.end(machine), *words)

    def heal(self, machine):
        command("ip", "netns", "exec", self.space(machine), "iptables", "-F")
        command("tc", "qdisc", "del", "dev", self.end(machine), "root", check=False)


def is_possible():
    return os.geteuid() == 0 and command("iptables", "-L", "-n", check=False).returncode == 0
