"""A saved_model.pb small enough to be written by hand."""


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def entry(field, key, value):
    return data(field, data(1, key.encode()) + data(2, value))


def tensor(dtype, *shape):
    return number(2, dtype) + data(3, b"".join(data(2, number(1, size)) for size in shape))


def make(version="2.2.0"):
    """One signature, image: float32[-1,28,28] → label: int64[-1]."""
    signature = (
        entry(1, "image", tensor(1, -1, 28, 28))
        + entry(2, "label", tensor(9, -1))
        + data(3, b"tensorflow/serving/predict")
    )
    graph = data(1, data(4, b"serve") + data(5, version.encode())) + entry(5, "serving_default", signature)
    return number(1, 1) + data(2, graph)
