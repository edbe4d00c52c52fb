"""What Tab offers in a real zsh at a terminal; that of bash is tested beside its code (cli/completion_test.cc)."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from harness import paths

pytestmark = pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")

# In place of the program: shows the line as zsh has completed it.
SETUP = """
PS1=; PROMPT_SP=; unsetopt prompt_sp zle; fpath=("$PWD" $fpath); autoload -Uz compinit; compinit -u -D; setopt zle
lathe() { print -r -- "<$*>" }
print rea''dy
"""


class Terminal:
    """A zsh on a pseudo terminal, with the completion of lathe and without anybody's settings."""

    def __init__(self, folder):
        done = subprocess.run([paths.BINARY, "completion", "zsh"], capture_output=True, check=True, timeout=30)
        (folder / "_lathe").write_bytes(done.stdout)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(folder)})
        os.write(self.fd, SETUP.encode())
        self.read_until(r"ready\r?\n")

    def read_until(self, pattern, deadline=20):
        seen, end = "", time.monotonic() + deadline
        while not (found := re.search(pattern, seen)):
            readable, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert readable, f"no {pattern} within {deadline} s: {seen!r}"
            seen += os.read(self.fd, 65536).decode(errors="replace")
        return found

    def complete(self, typed):
        """The words of the line after Tab and Enter."""
        os.write(self.fd, f"{typed}\t\n".encode())
        return self.read_until(r"<(.*)>\r?\n").group(1).strip()

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(tmp_path):
    made = Terminal(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    "typed, completed",
    [
        ("lathe doc", "doctor"),
        ("lathe run su", "run submit"),
        ("lathe run submit --exp", "run submit --experiment"),
        ("lathe run list --output js", "run list --output json"),
        ("lathe run list -o js", "run list -o json"),
        ("lathe --output js", "--output json"),
        ("lathe --output json run arch", "--output json run archive"),
        ("lathe run --workspace run arch", "run --workspace run archive"),
        ("lathe token create --role op", "token create --role operator"),
    ],
)
def test_zsh_completes(terminal, typed, completed):
    assert terminal.complete(typed) == completed
