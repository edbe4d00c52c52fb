"""Trains a dense network on MNIST. Each epoch's accuracy is logged; the model is saved to outputs/model."""
import argparse
import os

import tensorflow as tf
from azureml.core import Run

import mnist_files

parser = argparse.ArgumentParser()
parser.add_argument("--data-folder", required=True, help="a folder with the four idx files, at any depth")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--neurons", type=int, default=128)
parser.add_argument("--learning-rate", type=float, default=0.001)
args = parser.parse_args()

run = Run.get_context()
train_images, train_labels, test_images, test_labels = mnist_files.load(args.data_folder)
print("{} training images, {} test images".format(len(train_images), len(test_images)), flush=True)

model = tf.keras.Sequential([
    tf.keras.layers.Input((784,)),
    tf.keras.layers.Dense(args.neurons, activation="relu"),
    tf.keras.layers.Dense(10, activation="softmax"),
])
optimizer = tf.keras.optimizers.Adam(args.learning_rate)
model.compile(optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])


class LogEpochs(tf.keras.callbacks.Callback):
    """Tells the run what each epoch gave."""

    def on_epoch_end(self, epoch, logs=None):
        run.log("accuracy", logs["accuracy"])
        run.log("validation_accuracy", logs["val_accuracy"])


model.fit(train_images, train_labels, batch_size=128, epochs=args.epochs, verbose=2,
          validation_data=(test_images, test_labels), callbacks=[LogEpochs()])
_, accuracy = model.evaluate(test_images, test_labels, verbose=0)
run.log("final_accuracy", accuracy)
os.makedirs("outputs", exist_ok=True)
if hasattr(model, "export"):  # Keras 3
    model.export("outputs/model", verbose=False)
else:
    model.save("outputs/model")
print("accuracy {:.4f}".format(accuracy))
