"""Methods that are not there, and what they may mean."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.adapters.protobuf.service_description import ProtobufDescription, near_names
from corrigible.rules.schema_repair.route import UNSURE
from corrigible.schema.exchange import Request
from tests._support.rows import rows


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
    found = description.nearest_operation(Request(f"/farm.Plots/{method}", ""))
    names = set() if found is None else {path.rpartition("/")[2] for path in found.schema["enum"]}
    assert names == meant


def test_the_method_of_the_same_name_in_another_service_comes_before_near_ones(
    description: ProtobufDescription,
) -> None:
    found = description.nearest_operation(Request("/farm.Fields/ListPlots", ""))
    assert found is not None
    assert found.schema["enum"][0] == "/farm.Plots/ListPlots"
    near = description.nearest_operation(Request("/farm.Plots/ListField", ""))
    assert near is not None
    assert near.schema["enum"][0] == "/farm.Fields/ListField"


@rows(
    ("name", "service", "names", "meant"),
    [
        # a verb of reading more or less
        ("BarnState", "Farm", ["GetBarnState", "PaintBarn"], ["GetBarnState"]),
        ("Ident", "Farm", ["GetIdent", "PaintBarn"], ["GetIdent"]),
        ("GetBarnHealth", "Farm", ["BarnHealth", "PaintBarn"], ["BarnHealth"]),
        ("Barns", "Farm", ["GetBarns", "ListBarns"], ["GetBarns", "ListBarns"]),
        ("Barns", "Farm", ["ListBarnDoors"], []),
        # a verb of writing is never meant by one of reading, nor by none, nor the other way around
        ("BarnState", "Farm", ["SetBarnState"], []),
        ("GetBarnState", "Farm", ["SetBarnState"], []),
        ("GetSnapshot", "Farm", ["Snapshot"], []),
        ("Snapshot", "Farm", ["GetSnapshot"], []),
        ("GetLockState", "Farm", ["LockState"], []),
        ("CreateBarn", "Farm", ["GetCreateBarn"], []),
        ("Get", "Farm", ["Barn"], []),
        # another verb of reading
        ("GetBarn", "Farm", ["DescribeBarn", "PaintBarn"], ["DescribeBarn"]),
        ("GetBarns", "Farm", ["ListBarns"], ["ListBarns"]),
        ("ListBarns", "Farm", ["DescribeBarns", "ReadBarns"], ["DescribeBarns", "ReadBarns"]),
        ("GetBarn", "Farm", ["ListBarn"], []),
        ("GetBarn", "Farm", ["DescribeBarnDoor"], []),
        # ... is not meant where another name is nearer
        ("DescribeBarns", "Farm", ["DescribeBarn", "ListBarns"], ["DescribeBarn"]),
        # the words of the service
        ("Grant", "Lease", ["LeaseGrant", "LeaseRevoke"], ["LeaseGrant"]),
        ("LeaseGrant", "LeaseService", ["Grant", "Revoke"], ["Grant"]),
        ("Grant", "Auth", ["LeaseGrant"], []),
        ("GrantLease", "Lease", ["LeaseGrantAll"], []),
        # another order, and number
        ("ListMembers", "Farm", ["MemberList", "MemberAdd"], ["MemberList"]),
        ("ListCities", "Farm", ["CityList"], ["CityList"]),
        ("ListRoles", "Farm", ["RoleList", "RoleAdd"], ["RoleList"]),
        ("ListRoles", "Farm", ["RoleGet"], []),
        ("ListRoles", "Farm", ["RuleListing"], []),
        # ... only where none has the very words
        ("getPlot", "Farm", ["GetPlot", "GetPlots", "Plot"], ["GetPlot"]),
        ("ListPlots", "Plots", ["PlotList", "PlotsList"], ["PlotsList"]),
        ("A" * 300, "Farm", ["GetBarn"], []),
        ("", "Farm", ["GetBarn"], []),
    ],
)
def test_names_that_mean_a_method(name: str, service: str, names: list[str], meant: list[str]) -> None:
    assert near_names(name, service, names) == meant


@rows(
    ("name", "meant", "is_sure"),
    [
        # another spelling, the words in another order, a verb of reading left out or exchanged
        ("list_barns", "ListBarns", True),
        ("ListBrans", "ListBarns", True),
        ("BarnList", "ListBarn", True),
        ("BarnHealth", "GetBarnHealth", True),
        ("GetBarn", "DescribeBarn", True),
        ("FarmClean", "Clean", True),
        # a verb of reading before what may be a verb of writing
        ("GetBarnHealth", "BarnHealth", False),
        # a word more or less is another method
        ("CancelBarn", "CancelBarnDoor", False),
        ("SendBarnReminder", "SendBarn", False),
        ("CreateDraftBarn", "CreateBarn", False),
        ("ResetBarn", "ResetBarnPolicy", False),
        # and so is another word
        ("StopBarn", "StartBarn", False),
        ("CheckIn", "CheckOut", False),
        ("CloseBarn", "CloneBarn", False),
        # another number: of what is read, unless another method reads several
        ("GetBarn", "GetBarns", True),
        ("GetBarns", "GetBarn", True),
        ("GetDoors", "GetDoor", False),
        ("CloseBarns", "CloseBarn", False),
        ("CloseBarn", "CloseBarns", False),
        ("FindBarn", "FindBarns", True),
        ("BatchGetBarn", "BatchGetBarns", True),
        ("BatchCloseBarn", "BatchCloseBarns", False),
        ("GetBarnHealth", "BarnHealth", True),
        ("GetHealth", "Health", False),
        # a verb of searching stands for no other verb
        ("FindBarns", "ListBarns", False),
    ],
)
def test_a_method_is_sent_unasked_only_where_the_name_is_the_same(name: str, meant: str, *, is_sure: bool) -> None:
    files = [_service("farm", "Farm", meant, "BatchGetDoors", "PaintRoof")]
    found = ProtobufDescription(Descriptors(files)).nearest_operation(Request(f"/farm.Farm/{name}", ""))
    assert found is None or found.schema["enum"] != [f"/farm.Farm/{meant}"] or is_sure is not found.schema.get(UNSURE)
    assert not is_sure or (found is not None and found.schema == {"enum": [f"/farm.Farm/{meant}"]})


@rows(
    ("service", "meant", "is_sure"),
    [
        ("farm.v1.Barn", "farm.v2.Barn", True),
        ("Barn", "farm.v2.Barn", True),
        ("farm.v2.BarnService", "farm.v2.Barn", True),
        ("farm.v2.Barns", "farm.v2.Barn", True),
        ("farm.v2.Bran", "farm.v2.Barn", True),
        ("farm.v2.Barn", "farm.v2.BarnDoors", False),
        ("farm.v2.Barn", "farm.v2.RemoteBarn", False),
        ("farm.v2.BarnAdmin", "farm.v2.Barn", False),
    ],
)
def test_a_service_is_meant_only_where_its_name_is_the_same(service: str, meant: str, *, is_sure: bool) -> None:
    package, _, name = meant.rpartition(".")
    found = ProtobufDescription(Descriptors([_service(package, name, "Open")])).nearest_operation(
        Request(f"/{service}/Open", "")
    )
    assert found is not None
    assert found.schema == {"enum": [f"/{meant}/Open"], **({} if is_sure else {UNSURE: True})}


def _service(package: str, name: str, *methods: str) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package=package, syntax="proto3")
    file.message_type.add(name="Plot")
    service = file.service.add(name=name)
    for method in methods:
        service.method.add(name=method, input_type=f".{package}.Plot", output_type=f".{package}.Plot")
    return file


@rows(
    ("method", "meant", "is_unsure"),
    [
        # What is there and only written with a slash is meant alone, whoever else has a method of that name.
        ("/farm.store/Store/Get", ["/farm.store.Store/Get"], False),
        ("/farm.store/Store/Gett", ["/farm.store.Store/Get"], False),
        # What another service does under one word may be done to something else, under two it is the same.
        ("/farm.store.Store/Put", ["/farm.depot.Depot/Put"], True),
        ("/farm.store/Store/Put", ["/farm.depot.Depot/Put"], True),
        ("/farm.store.Store/SweepFloor", ["/farm.barn.Barn/SweepFloor"], False),
        # A service that nobody has: of the same name behind more words, or another one with a method of that name.
        ("/farm.old.NorthernDepot/Put", ["/farm.depot.Depot/Put"], True),
        ("/farm.old.Storage/Put", ["/farm.depot.Depot/Put"], True),
        # ... is sure where one service alone has that method, of two words, and has the name, or more.
        ("/farm.old.Silo/FillTower", ["/farm.silo.NorthernSilo/FillTower"], False),
        ("/farm.old.TestBarn/SweepFloor", ["/farm.barn.Barn/SweepFloor"], True),
        ("/farm.old.BarnTest/SweepFloor", ["/farm.barn.Barn/SweepFloor"], True),
        ("/farm.old.Barnyard/SweepFloor", ["/farm.barn.Barn/SweepFloor"], False),
        ("/farm.old.House/SweepFloor", ["/farm.barn.Barn/SweepFloor"], True),
        ("/farm.old.BigBarn/SellGoods", ["/farm.store.Store/SellGoods", "/farm.depot.Depot/SellGoods"], False),
        ("/farm.barn.Barn/GetHealth", ["/farm.barn.Barn/Health"], True),
        ("/farm.barn.Barn/State", ["/farm.barn.Barn/GetState"], False),
    ],
)
def test_one_method_that_is_meant(method: str, meant: list[str], *, is_unsure: bool) -> None:
    files = [
        _service("farm.store", "Store", "Get", "SellGoods"),
        _service("farm.depot", "Depot", "Get", "Put", "SellGoods"),
        _service("farm.barn", "Barn", "Health", "GetState", "SweepFloor"),
        _service("farm.silo", "NorthernSilo", "FillTower"),
    ]
    found = ProtobufDescription(Descriptors(files)).nearest_operation(Request(method, ""))
    assert found is not None
    assert found.schema["enum"] == meant
    assert (found.schema.get(UNSURE) is True) is is_unsure
