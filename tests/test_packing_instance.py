"""Packing instances: what is refused and how, files, foreign formats, generators, and the
checker.
"""

# mypy: disable-error-code="union-attr,index,no-any-return,dict-item"

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.messages import refused

from cotenant import solve
from cotenant.analysis.run.proving import prove_file
from cotenant.baselines.packing import best_fit_decreasing
from cotenant.instances.packing import Packing, Placement
from cotenant.instances.packing.csv_reader import vms_csv
from cotenant.instances.packing.formats import alibaba_openb, azure_trace, azure_vm, vbp
from cotenant.instances.packing.generators import caprara_toth, vm_types
from cotenant.instances.problem import (
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    read,
)


def test_placement_equality_ignores_order_of_servers() -> None:
    one = Placement([[1, 0], [0, 0], [0, 2]], [1, 0, 0])
    two = Placement([[0, 2], [1, 0]], [0, 1])
    assert one == two
    assert one.servers == 2
    assert Placement.from_document(json.loads(json.dumps(one.document()))) == one
    empty = Placement(np.zeros((0, 2), dtype=int), [])
    assert Placement.from_document(json.loads(json.dumps(empty.document()))).servers == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.vbp", "2\n10 20\n2\n3 4 5\n6 -7 1\n"),
        ("a.vbp", "2\n10 20\n2\n3 4.5 5\n6 7 1\n"),
        ("a.vbp", "2\n10 20\n3\n3 4 5\n6 7 1\n"),
        ("a.vbp", "2\n10\n"),
        ("a.vbp", "1\n10\n1\n30 1\n"),
        ("a.mvp", "1\n1\n10 1 -1\n1\n2 1\n6\n7\n"),
        *(("a.vbp", f"1 {word} 1 1 1") for word in ("--5", "\u00b2", "9" * 5000, "1_0")),
    ],
)  # fmt: skip
def test_invalid_bin_packing_file_is_refused(tmp_path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with refused((InvalidFile, InvalidInstance)):
        vbp(path)


AZURE = """vm,batch,cpu_cores,mem_gb,start_s,end_s_lo,end_s_hi,censored
0,0,8.0,14.0,0,600,600,0
1,1,1.0,0.75,300,900,900,0
2,1,1.0,0.75,300,300,600,0
3,2,2.0,3.5,600,900,900,0
"""


def test_azure_list_is_read_at_densest_or_given_instant(tmp_path) -> None:
    path = tmp_path / "azure.csv"
    path.write_text(AZURE)
    densest = azure_vm(path)
    assert densest.demand.tolist() == [[8, 14336], [1, 768]]
    assert densest.capacity.tolist() == [[64, 192 * 1024]]
    late = azure_vm(path, at=700)
    assert late.demand.tolist() == [[1, 768], [2, 3584]]
    # one ends at the second at which another starts
    assert azure_vm(path, at=600).demand.tolist() == [[1, 768], [2, 3584]]
    with refused(InvalidOption):
        azure_vm(path, at=5000)
    path.write_text(AZURE.replace("0.75", "0.3333", 1))
    with refused(InvalidFile):
        azure_vm(path)
    path.write_text(AZURE.replace("cpu_cores", "cores"))
    with refused(InvalidFile):
        azure_vm(path)


def test_azure_list_default_instant_needs_most_servers_by_volume(tmp_path) -> None:
    """Three small VMs at 0 need less than the large one at 500; an empty life is left out."""
    path = tmp_path / "azure.csv"
    small = "".join(f"{i},1,1,0,400\n" for i in range(3))
    path.write_text(f"vm,cpu_cores,mem_gb,start_s,end_s_lo\n{small}3,48,1,500,900\n4,64,1,7,7\n")
    found = azure_vm(path)
    assert found.demand.tolist() == [[48, 1024]]
    assert "1 of 5 VMs" in found.source
    assert azure_trace(path).densest() == 0
    path.write_text("vm,cpu_cores,mem_gb,start_s,end_s_lo\n4,64,1,7,7\n")
    with refused(InvalidFile):
        azure_vm(path)


@pytest.mark.parametrize(
    ("name", "text", "capacity", "demand", "requested"),
    [
        ("a.txt", "4\n100\n60\n50\n50\n40\n", [[100]], [[60], [50], [40]], [1, 2, 1]),
        ("a.txt", "2\n100\n60 3\n50 2\n", [[100]], [[60], [50]], [3, 2]),
        ("a.mvp", "1\n2\n10 10 -1\n14 13 4\n2\n1 2\n6\n1 1\n9\n", [[10], [14]], [[6], [9]], [2, 1]),
        ("a.vbp", "2\n10 20\n2\n3 4 5\n6 7 1\n", [[10, 20]], [[3, 4], [6, 7]], [5, 1]),
        ("a.vbp", "1\n10\n2\n6 2\n4 1\n", [[10]], [[6], [4]], [2, 1]),
    ],
)  # fmt: skip
def test_vbp_reads_bpplib_and_vpsolver_files(
    tmp_path, name, text, capacity, demand, requested
) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = vbp(path)
    assert (found.capacity.tolist(), found.demand.tolist()) == (capacity, demand)
    assert found.requested.tolist() == requested
    if name == "a.mvp":
        assert (found.cost.tolist(), found.servers.tolist()) == ([10, 13], [np.inf, 4])


def test_alibaba_nodes_are_grouped_into_classes(tmp_path) -> None:
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv"
    nodes.write_text(
        "sn,cpu_milli,memory_mib,gpu,model\na,32000,1000,0,\nb,32000,1000,0,\nc,8000,500,2,T4\n"
    )
    pods.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
        "p,4000,100,1,500,0,10\nq,4000,100,1,500,5,20\nr,1000,100,0,0,0,\n"
    )
    instance = alibaba_openb(pods, nodes=str(nodes))
    assert instance.capacity.tolist() == [[32000, 1000, 0], [8000, 500, 2000]]
    assert instance.server_count.tolist() == [2.0, 1.0]
    assert instance.demand.tolist() == [[4000, 100, 500], [1000, 100, 0]]
    assert instance.requested.tolist() == [2.0, 1.0]
    assert alibaba_openb(pods, nodes=str(nodes), at=15).requested.tolist() == [1.0, 1.0]


def test_published_azure_and_alibaba_lists_have_known_totals(packing_data) -> None:
    folder = packing_data
    azure = azure_vm(folder / "azure_v1_vm_requests_dev_20k.csv")
    assert azure.requested.sum() == 3074
    assert "of 20042 VMs" in azure.source
    whole = alibaba_openb(
        folder / "openb_pod_list_default.csv", nodes=str(folder / "openb_node_list_all_node.csv")
    )
    assert (whole.server_count.sum(), whole.requested.sum()) == (1523, 8152)


def test_vm_types_generator_scales_published_cluster() -> None:
    rng = np.random.default_rng(0)
    assert vm_types(rng=rng).server_count.tolist() == [1, 3, 4]
    assert vm_types(machines=700, rng=rng).server_count.tolist() == [88, 262, 350]
    assert vm_types(types="Tiny,X large", resources=2, rng=rng).demand.tolist() == [
        [1, 1024],
        [8, 24576],
    ]
    for options in ({"machines": 10**15}, {"types": "Huge"}, {"resources": 4}):
        with pytest.raises(InvalidOption):
            vm_types(rng=rng, **options)


@pytest.mark.parametrize("number", range(1, 11))
def test_caprara_toth_classes_are_drawn_from_the_published_ranges(number: int) -> None:
    instance = caprara_toth(number=number, items=3000, rng=np.random.default_rng(1))
    first, second = instance.demand.T
    assert instance.types == 3000
    assert (instance.demand <= instance.capacity).all()
    ranges = ((100, 400), (1, 1000), (200, 800), (50, 200), (25, 100), *[(20, 100)] * 3, (100, 400))
    if number < 10:
        assert (first.min(), first.max()) == pytest.approx(ranges[number - 1], abs=1)
    apart = {7: second - first, 8: first + second}.get(number, second)
    assert (apart.min(), apart.max()) == {7: (-10, 10), 8: (110, 130), 10: (0, 50)}.get(
        number, (second.min(), second.max())
    )
    if number not in (7, 8, 10):
        assert (second.min(), second.max()) == pytest.approx(ranges[number - 1], abs=1)
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    if number == 9:  # as few bins as volume asks for, and just large enough in both sizes
        fewest = -(-int(instance.demand.sum(axis=0).max()) // 1000)
        assert instance.capacity[0].tolist() == (-(-instance.demand.sum(axis=0) // fewest)).tolist()
    else:
        assert instance.capacity.tolist() == [
            [{6: 150, 7: 150, 8: 150, 10: 100}.get(number, 1000)] * 2
        ]
    if number == 10:
        assert (instance.demand.reshape(1000, 3, 2).sum(axis=1) == 100).all()
        assert ((instance.demand >= 25).all(axis=1)).sum() >= 2000


def test_best_fit_takes_the_first_of_equally_full_servers() -> None:
    instance = Packing(capacity=[[9, 9]], demand=[[6, 4], [4, 6], [3, 3]], request=[1, 1, 1])
    assert sorted(best_fit_decreasing(instance).count.tolist()) == [[0, 1, 0], [1, 0, 1]]


def test_decimal_amounts_are_scaled_equally_in_arrays_frames_json_and_csv(tmp_path) -> None:
    import pandas

    capacity, demand = [[4, 8.5]], [[0.1, 2], [1.25, 0.5]]
    given: dict[str, Any] = {"request": [3, 1], "names": ("a", "b"), "resources": ("cpu", "mem")}
    path = tmp_path / "a.json"
    fields = {"capacity": capacity, "demand": demand, **given}
    path.write_text(json.dumps({"cotenant": 1, "problem": "packing", **fields}))
    (tmp_path / "vms.csv").write_text("name,cpu,mem,count\na,.1,2,3\nb,1.250,.5,1\n")
    (tmp_path / "hosts.csv").write_text("name,cpu,mem,count\nh,4,8.50,inf\n")
    frame = pandas.DataFrame(demand, ["a", "b"], ["cpu", "mem"])
    room = pandas.DataFrame(capacity, ["h"], ["cpu", "mem"])
    for found in (
        Packing(**fields),
        read(path, Packing),
        Packing.from_frame(frame, capacity=room, request=[3, 1]),
        vms_csv(tmp_path / "vms.csv", hosts=str(tmp_path / "hosts.csv")),
    ):
        assert found.capacity.tolist() == found.initial_capacity.tolist() == [[400, 85]]
        assert found.demand.tolist() == [[10, 20], [125, 5]]
        assert found.resources == ("cpu [1/100]", "mem [1/10]")
    with refused(InvalidFile):  # the verifier reads integers only
        prove_file(found, path, solve(found, "min-servers"), tmp_path / "p.json")
