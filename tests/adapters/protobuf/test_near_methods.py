"""Methods that are not there, and what they may mean."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.adapters.protobuf.service_description import ProtobufDescription


@pytest.fixture(scope="module")
def description() -> ProtobufDescription:
    file = descriptor_pb2.FileDescriptorProto(name="farm.proto", package="farm", syntax="proto3")
    file.message_type.add(name="Plot")
    service = file.service.add(name="Plots")
    for name in ("AddPlot", "AddPlotAlias", "DeletePlotAlias", "ListPlots"):
        service.method.add(name=name, input_type=".farm.Plot", output_type=".farm.Plot")
    other = file.service.add(name="Fields")
    for name in ("AddField", "ListField"):
        other.method.add(name=name, input_type=".farm.Plot", output_type=".farm.Plot")
    return ProtobufDescription(Descriptors([file]))


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        # What lacks a word is not meant alone where another has all of them.
        ("AddAliasPlot", {"AddPlot", "AddPlotAlias"}),
        ("PlotAliasDelete", {"DeletePlotAlias"}),
        ("AddPlott", {"AddPlot"}),
        ("PaintBarn", set()),
    ],
)
def test_methods_of_nearly_the_same_words(description: ProtobufDescription, method: str, meant: set[str]) -> None:
    found = description.nearest_operation(f"/farm.Plots/{method}", "")
    names = set() if found is None else {path.rpartition("/")[2] for path in found.schema["enum"]}
    assert names == meant


def test_the_method_of_the_same_name_in_another_service_comes_before_near_ones(
    description: ProtobufDescription,
) -> None:
    found = description.nearest_operation("/farm.Fields/ListPlots", "")
    assert found is not None
    assert found.schema["enum"][0] == "/farm.Plots/ListPlots"
    near = description.nearest_operation("/farm.Plots/ListField", "")
    assert near is not None
    assert near.schema["enum"][0] == "/farm.Fields/ListField"
