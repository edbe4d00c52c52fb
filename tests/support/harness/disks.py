"""LoopDisk: an ext4 file system in a file, for faults of a whole disk: a power cut, errors of the device, one that cannot be
written any more, one that is slow, one that hangs. Needs root and loop devices."""

import contextlib
import fcntl
import os
import pathlib
import struct
import subprocess
import tempfile

from .wait import wait_for

EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
FLUSH, NO_LOG_FLUSH = 0, 2


def are_possible():
    return os.geteuid() == 0 and os.path.exists("/dev/loop-control")


def run(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True)


def shut_down(mounted, how):
    folder = os.open(mounted, os.O_RDONLY)
    fcntl.ioctl(folder, EXT4_IOC_SHUTDOWN, struct.pack("I", how))
    os.close(folder)


class LoopDisk:
    """Mounted at `mounted`. `kind` says what its device can do: "plain"; "breaking": it lies on a file system that can be
    shut down, and then answers every request with an error (EIO); "thin": it lies on a memory disk of `limit` bytes, and has
    no room for new blocks when that one is full."""

    def __init__(self, size=256 << 20, kind="plain", limit=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-disk-"))
        self.below, self.mounted, self.kind = self.folder / "below", self.folder / "disk", kind
        self.image, self.frozen = self.below / "image", False
        for folder in (self.below, self.mounted):
            folder.mkdir()
        if kind == "thin":
            run("mount", "-t", "tmpfs", "-o", f"size={limit}", "tmpfs", self.below)
        if kind == "breaking":
            with (self.folder / "lower").open("wb") as file:
                file.truncate(size + (64 << 20))
            run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", self.folder / "lower")
            self.mount_lower()
        with self.image.open("wb") as file:
            file.truncate(size)
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", self.image)
        self.mount()

    def mount(self):
        run("mount", "-o", "loop", self.image, self.mounted)

    def mount_lower(self):
        run("mount", "-o", "loop", self.folder / "lower", self.below)

    def unmount(self):
        wait_for(lambda: run("umount", self.mounted, check=False).returncode == 0, 30, "an unmounted disk")

    def replace(self):
        """A new disk with the bytes of the old one: some other mount namespace may keep the old one's file system alive."""
        copy = self.image.with_suffix(".copy")
        run("cp", "--sparse=always", self.image, copy)
        copy.replace(self.image)

    def remove(self):
        if self.frozen:
            self.thaw()
        self.unmount()
        if self.kind != "plain":
            wait_for(lambda: run("umount", self.below, check=False).returncode == 0, 30, "what is below")
        run("rm", "-rf", self.folder)

    @property
    def device(self):
        """As the kernel numbers it: "7:3"."""
        number = os.stat(self.mounted).st_dev
        return f"{os.major(number)}:{os.minor(number)}"

    # --- faults

    def cut(self):
        """What was not synced is gone."""
        shut_down(self.mounted, NO_LOG_FLUSH)

    def break_device(self):
        """Every request to the device is an error from now on."""
        shut_down(self.below, FLUSH)

    def fill_device(self):
        """There is no room for new blocks, although the file system on it has some."""
        with (self.below / "ballast").open("wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(1 << 20))

    def renew(self):
        """A working disk with what the broken one holds."""
        self.unmount()
        if self.kind == "breaking":
            wait_for(lambda: run("umount", self.below, check=False).returncode == 0, 30, "what is below")
            self.mount_lower()
        (self.below / "ballast").unlink(missing_ok=True)
        self.replace()
        self.mount()

    def make_read_only(self):
        """As the kernel does it after an error, whoever has files open for writing."""
        run("mount", "-o", "remount,abort", self.mounted, check=False)

    def freeze(self):
        run("fsfreeze", "-f", self.mounted)
        self.frozen = True

    def thaw(self):
        run("fsfreeze", "-u", self.mounted)
        self.frozen = False


@contextlib.contextmanager
def slow_group(name, device, bytes_per_second):
    """The file that processes write themselves into, to have a slow disk."""
    group = pathlib.Path("/sys/fs/cgroup/blkio") / name
    group.mkdir()
    (group / "blkio.throttle.write_bps_device").write_text(f"{device} {bytes_per_second}")
    try:
        yield group / "cgroup.procs"
    finally:
        (group / "blkio.throttle.write_bps_device").write_text(f"{device} 0")
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid)
        wait_for(lambda: not (group / "cgroup.procs").read_text(), 10, "an empty group")
        group.rmdir()
