"""Environments: registered definitions, versions, and the curated catalogue."""

import pathlib
import secrets

import pytest

CATALOGUE = pathlib.Path(__file__).resolve().parents[2] / "curated"
CURATED = sorted(file.stem for file in CATALOGUE.glob("*.yml"))
# The names that existing scripts ask for.
ASKED_FOR = [
    "AzureML-Minimal", "AzureML-Tutorial", "AzureML-TensorFlow-1.13-GPU", "AzureML-TensorFlow-2.0-GPU",
    "AzureML-TensorFlow-2.2-GPU", "AzureML-TensorFlow-2.3-GPU", "AzureML-tensorflow-2.4-ubuntu18.04-py37-cuda11-gpu",
    "azureml-tensorflow-2.11-cuda11", "AzureML-tensorflow-2.16-cuda12", "AzureML-Scikit-learn-0.20.3",
    "AzureML-sklearn-0.24-ubuntu18.04-py37-cpu", "AzureML-sklearn-1.0-ubuntu20.04-py38-cpu", "azureml-sklearn-1.5",
    "AzureML-PyTorch-1.6-GPU", "azureml-acpt-pytorch-2.2-cuda12.1", "AzureML-Chainer-5.1.0-GPU",
    "AzureML-DeepSpeed-0.3-GPU",
]  # fmt: skip


def name():
    return "env-" + secrets.token_hex(4)


def definition(*packages):
    return {
        "python": {"condaDependencies": {"dependencies": ["python=3.6.2", {"pip": list(packages)}]}},
        "docker": {"enabled": True},
    }


def test_a_version_comes_only_with_a_change(client):
    path = client.path("environments", name())
    first = client.put(path, {"definition": definition("a")}).expect(201).json()
    assert (first["version"], first["latest"], first["curated"]) == (1, True, False)
    reordered = dict(reversed(definition("a").items()))
    assert client.put(path, {"definition": reordered}).expect(200).json()["version"] == 1
    assert client.put(path, {"definition": definition("b")}).expect(201).json()["version"] == 2
    assert client.put(path, {"definition": definition("a")}).expect(201).json()["version"] == 3, "back is a change too"
    assert client.get(path, version=1).expect(200).json()["definition"] == definition("a")
    assert client.get(path).json()["version"] == 3
    client.get(path, version=4).expect(404)
    client.get(client.path("environments", name())).expect(404)


@pytest.mark.parametrize("curated", CURATED)
def test_curated_environments_are_there(client, curated):
    found = client.get(client.path("environments", curated)).expect(200).json()
    assert found["curated"] and found["definition"]["name"] == curated
    dependencies = found["definition"]["python"]["condaDependencies"]["dependencies"]
    assert dependencies[0].startswith("python=3.") and "azureml-defaults" in dependencies[-1]["pip"]
    assert found["definition"]["docker"]["baseImage"]


def test_every_name_that_scripts_ask_for_is_there(client):
    assert set(ASKED_FOR) <= set(CURATED)


def test_a_curated_environment_answers_to_any_version(client):
    path = client.path("environments", "AzureML-Minimal")
    newest = client.get(path).expect(200).json()
    old = client.get(path, version=44).expect(200).json()
    assert (newest["version"], old["version"]) == (1, 44) and old["definition"] == newest["definition"]


def test_tensorflow_2_2_is_what_the_tutorials_expect(client):
    found = client.get(client.path("environments", "AzureML-TensorFlow-2.2-GPU")).expect(200).json()["definition"]
    assert found["python"]["condaDependencies"]["dependencies"] == [
        "python=3.6.2",
        {"pip": ["azureml-defaults", "tensorflow-gpu==2.2.0", "horovod==0.19.5"]},
    ]


@pytest.mark.parametrize("name_of, horovod", [("1.13", "0.16.1"), ("2.2", "0.19.5")])
def test_horovod_is_included(client, name_of, horovod):
    found = client.get(client.path("environments", f"AzureML-TensorFlow-{name_of}-GPU")).expect(200).json()
    assert f"horovod=={horovod}" in found["definition"]["python"]["condaDependencies"]["dependencies"][-1]["pip"]


def test_the_list_has_both_kinds(client):
    mine = name()
    client.put(client.path("environments", mine), {"definition": definition()}).expect(201)
    items = {item["name"]: item for item in client.items(client.path("environments"), limit=5)}
    assert set(CURATED) < set(items) and not items[mine]["curated"]


@pytest.mark.parametrize("reserved", ["AzureML-Mine", "azureml-mine", "Microsoft-x", "AzureML-TensorFlow-2.2-GPU"])
def test_reserved_names_are_refused_with_a_way_out(client, reserved):
    refused = client.put(client.path("environments", reserved), {"definition": definition()}).expect(403).json()
    assert "clone" in refused["hint"]


def test_what_is_no_definition_is_refused(client):
    path = client.path("environments", name())
    for body in ({}, {"definition": []}, {"definition": {}, "more": 1}):
        client.put(path, body).expect(400)
    client.put(path, {"definition": {"x": "y" * (1 << 20)}}).expect(413)
