"""Trains a small convolutional network on MNIST with TensorFlow.

The data are the four idx files of MNIST in the folder --data. What is written to ./outputs comes back with the run:
the model (outputs/model) and its figures (outputs/metrics.json).
"""
import argparse
import gzip
import json
import pathlib
import struct
import time

import numpy as np


def read_idx(folder, name):
    """An idx file, plain or gzipped, under either of its two usual names (…-idx3-ubyte, ….idx3-ubyte)."""
    for candidate in (name, name.replace("-idx", ".idx")):
        for suffix, opener in (("", open), (".gz", gzip.open)):
            path = folder / (candidate + suffix)
            if path.exists():
                with opener(path, "rb") as file:
                    _, dimensions = struct.unpack(">HxB", file.read(4))
                    shape = struct.unpack(">" + "I" * dimensions, file.read(4 * dimensions))
                    return np.frombuffer(file.read(), dtype=np.uint8).reshape(shape)
    raise SystemExit(f"{folder} has no {name}; --data names the folder with the MNIST files")


def load(folder):
    images = [read_idx(folder, f"{part}-images-idx3-ubyte")[..., None].astype("float32") / 255 for part in ("train", "t10k")]
    labels = [read_idx(folder, f"{part}-labels-idx1-ubyte").astype("int64") for part in ("train", "t10k")]
    return images[0], labels[0], images[1], labels[1]


def build(tf):
    layers = tf.keras.layers
    return tf.keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dropout(0.2),
        layers.Dense(10, activation="softmax"),
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    arguments = parser.parse_args()

    begun = time.monotonic()
    print("loading TensorFlow", flush=True)
    import tensorflow as tf  # here, so that --help and a missing folder answer at once

    print(f"TensorFlow {tf.__version__}, devices: {[device.name for device in tf.config.list_physical_devices()]}", flush=True)
    tf.keras.utils.set_random_seed(1)
    train_images, train_labels, test_images, test_labels = load(arguments.data)
    print(f"{len(train_images)} training images, {len(test_images)} test images", flush=True)

    model = build(tf)
    model.compile(optimizer=tf.keras.optimizers.Adam(arguments.learning_rate), loss="sparse_categorical_crossentropy",
                  metrics=["accuracy"])

    class Report(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch % 100 == 0:
                print(f"  step {batch:4d}  loss {logs['loss']:.4f}  accuracy {logs['accuracy']:.4f}", flush=True)

        def on_epoch_end(self, epoch, logs=None):
            print(f"epoch {epoch + 1}/{arguments.epochs}  loss {logs['loss']:.4f}  test accuracy {logs['val_accuracy']:.4f}", flush=True)

    model.fit(train_images, train_labels, epochs=arguments.epochs, batch_size=arguments.batch_size, verbose=0,
              validation_data=(test_images, test_labels), callbacks=[Report()])
    loss, accuracy = model.evaluate(test_images, test_labels, verbose=0)

    outputs = pathlib.Path("outputs")
    outputs.mkdir(exist_ok=True)
    model.export(str(outputs / "model"), verbose=False)
    metrics = {"test_loss": round(float(loss), 5), "test_accuracy": round(float(accuracy), 5),
               "seconds": round(time.monotonic() - begun, 1)}
    (outputs / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    print(f"done: {metrics}", flush=True)


if __name__ == "__main__":
    main()
