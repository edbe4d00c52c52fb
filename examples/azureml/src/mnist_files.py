"""Reads the idx files of MNIST, wherever below a folder they lie."""
import glob
import gzip
import os
import struct

import numpy as np


def read_idx(path):
    with gzip.open(path, "rb") as file:
        _, dimensions = struct.unpack(">HxB", file.read(4))
        shape = struct.unpack(">" + "I" * dimensions, file.read(4 * dimensions))
        return np.frombuffer(file.read(), dtype=np.uint8).reshape(shape)


def find(folder, name):
    found = glob.glob(os.path.join(folder, "**", name + "*.gz"), recursive=True)
    if not found:
        raise SystemExit("there is no {}*.gz below {}".format(name, folder))
    return found[0]


def load(folder):
    """(training images, training labels, test images, test labels), images as rows of 784 numbers from 0 to 1."""
    parts = []
    for part in ("train", "t10k"):
        images = read_idx(find(folder, part + "-images"))
        parts.append(images.reshape(len(images), -1).astype("float32") / 255)
        parts.append(read_idx(find(folder, part + "-labels")).astype("int64"))
    return tuple(parts)
