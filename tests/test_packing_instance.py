"""Packing files of others, published lists, arrivals of VMs, and invalid instances."""

# mypy: disable-error-code="union-attr,index,no-any-return,dict-item"

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.files import text_file
from support.messages import refused
from support.oracles.card_policies import played
from support.seeds import ranges

import cotenant
from cotenant import solve
from cotenant.analysis.run.proving import prove_file
from cotenant.baselines.packing import arrivals as policies
from cotenant.baselines.packing import best_fit_decreasing
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.csv_reader import vms_csv
from cotenant.instances.packing.formats import alibaba_openb, azure_trace, azure_vm, drawn, vbp
from cotenant.instances.packing.generators import caprara_toth, vm_types
from cotenant.instances.problem import read
from cotenant.instances.problem.errors import (
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    NoSolution,
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
    path = text_file(tmp_path, text, name)
    with refused((InvalidFile, InvalidInstance)):
        vbp(path)


AZURE = """vm,batch,cpu_cores,mem_gb,start_s,end_s_lo,end_s_hi,censored
0,0,8.0,14.0,0,600,600,0
1,1,1.0,0.75,300,900,900,0
2,1,1.0,0.75,300,300,600,0
3,2,2.0,3.5,600,900,900,0
"""


def test_azure_vm_list_is_read_at_time_of_most_demand_or_given_time(tmp_path) -> None:
    path = text_file(tmp_path, AZURE, "azure.csv")
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
    path = text_file(tmp_path, text, name)
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


ORDERED = {
    "BEST": policies.best_fit_cards,
    "DOT": policies.dot_product_cards,
    "PACKING": policies.card_packing,
    "FGD": policies.fragmentation_gradient,
}


def arriving(seed: int) -> Packing:
    """A small cluster of servers with up to five cards, and more VMs than fit, in an order."""
    rng = np.random.default_rng(seed)
    p, s, units = int(rng.integers(1, 3)), int(rng.integers(2, 7)), int(rng.integers(4, 30))
    kind = rng.choice(3, s, p=[0.3, 0.6, 0.1])  # whole cards, a share, neither
    cards = rng.integers(1, 6, p)
    allowed = rng.random((s, p)) < 0.9
    allowed[:, 0] = True
    arrival = rng.integers(0, s, int(rng.integers(5, 31)))
    return Packing(
        capacity=rng.integers(6, 25, (p, 2)), demand=rng.integers(1, 4, (s, 2)),
        request=np.bincount(arrival, minlength=s).astype(float), partial=True,
        servers=rng.integers(1, 4, p).astype(float), cards=cards, card_units=units,
        card_demand=np.where(kind == 0, rng.integers(1, cards[0] + 1, s), 0),
        card_share=np.where(kind == 1, rng.integers(1, units, s), 0),
        allowed=allowed, arrival=arrival,
    )  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("policy", ORDERED)
@pytest.mark.parametrize("seeds", ranges(2000, 40, 500), ids=str)
def test_card_policies_equal_plain_implementation(seeds, policy):
    for seed in seeds:
        given = arriving(seed)
        order = np.random.default_rng(seed).permutation(len(given.server_class))
        popular = {"popular": 0.7} if policy == "FGD" else {}
        found = ORDERED[policy](given, rng=np.random.default_rng(seed), **popular)
        check(given, found)
        typical = Counter(
            dict(zip(*map(np.ndarray.tolist, policies.typical_types(given, 0.7)), strict=True))
        )
        hosts = played(given, policy, order.tolist(), typical)
        count = np.zeros((len(order), given.types), dtype=int)
        for host, i in zip(hosts, given.arrival.tolist(), strict=True):
            if host >= 0:
                count[host, i] += 1
        expected = type(found)(count, given.server_class)
        assert (found.count.tolist(), found.server_class.tolist()) == (
            expected.count.tolist(), expected.server_class.tolist()
        ), seed  # fmt: skip


@pytest.mark.parametrize("seeds", ranges(2000, 40, 500), ids=str)
def test_random_card_policy_rejects_only_vms_that_fit_nowhere(seeds):
    for seed in seeds:
        given = arriving(seed)
        found = policies.random_card(given, rng=np.random.default_rng(seed))
        check(given, found)
        if (found.totals(given.types) == given.requested).all():
            check(given.replace(partial=False), found)


def test_random_card_policy_draws_cards_with_equal_chance():
    # a whole card is left for the third VM where the first two share one
    given = Packing(capacity=[[9]], demand=[[1], [1]], request=[2, 1], servers=[1], partial=True,
                    cards=[2], card_units=2, card_share=[1, 0], card_demand=[0, 1],
                    arrival=[0, 0, 1])  # fmt: skip
    together = sum(
        policies.random_card(given, rng=np.random.default_rng(seed)).totals(2)[1] == 1
        for seed in range(400)
    )
    assert 150 < together < 250


def one_server(free: int, **fields: object) -> Packing:
    """A server of two cards of ten units; VM types 0 to 3: .4 of a card, two cards, CPU only, .8."""
    return Packing(
        capacity=[[free]], demand=[[2], [4], [3], [1]], request=[2, 1, 1, 0], servers=[1],
        partial=True, cards=[2], card_units=10, card_demand=[0, 2, 0, 0],
        card_share=[4, 0, 0, 8], **fields,
    )  # fmt: skip


def test_typical_vm_types_merge_equal_types_and_keep_most_requested():
    given = Packing(
        capacity=[[9, 9]], demand=[[2, 1], [2, 5], [1, 1], [3, 1]], request=[3, 2, 4, 1],
        servers=[9], partial=True, cards=[2], card_units=10, card_share=[4, 4, 4, 4],
    )  # fmt: skip
    assert [part.tolist() for part in policies.typical_types(given, 0.9)] == [[0, 2], [5, 4]]
    assert [part.tolist() for part in policies.typical_types(given, 0.4)] == [[0], [5]]


def test_required_vm_that_fits_nowhere_is_named():
    with refused(NoSolution):
        policies.best_fit_cards(one_server(9, arrival=[0, 0, 1, 2]).replace(partial=False))


@pytest.mark.parametrize("fields", [
    {"cards": None, "card_demand": None, "card_share": None}, {"servers": [np.inf]},
    {"request": [np.inf, 1, 1, 0]}, {"most_per_server": [1, 1, 1, 1]}, {"cards": [10**10]},
], ids=str)  # fmt: skip
def test_card_policies_refuse_instances_without_cards(fields):
    given = one_server(9).replace(**fields)
    with refused(InvalidInstance):
        policies.fragmentation_gradient(given)


@pytest.mark.parametrize("arrival", [[0, 0, 1], [0, 0, 1, 4], [0, 1, 1, 2]], ids=str)
def test_arrival_order_different_from_requests_is_refused(arrival):
    with refused(InvalidInstance):
        one_server(9, arrival=arrival)


NODES = "sn,cpu_milli,memory_mib,gpu,model\na,32000,1000,2,T4\nb,32000,1000,2,T4\nc,8000,500,0,\nd,9000,500,8,G2\n"
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
p,4000,100,1,460,
q,4000,100,1,1000,T4
r,9000,100,8,1000,|G2|
s,1000,100,0,0,
t,4000,100,1,460,
u,9500,100,8,1000,G2
v,4000,100,1,460,V100|T4
"""


@pytest.fixture
def lists(tmp_path) -> Callable[..., Packing]:
    """Writes a list of pods beside one of nodes, and reads both."""
    (tmp_path / "nodes.csv").write_text(NODES)

    def read(pods: str = PODS, **options: Any) -> Packing:
        (tmp_path / "pods.csv").write_text(pods)
        return alibaba_openb(
            tmp_path / "pods.csv", nodes=str(tmp_path / "nodes.csv"), cards=True, **options
        )

    return read


def test_alibaba_pods_keep_list_order_and_card_models(lists):
    found = lists()
    assert found.capacity.tolist() == [[32000, 1000], [8000, 500], [9000, 500]]
    assert (found.server_count.tolist(), found.cards.tolist()) == ([2, 1, 1], [2, 0, 8])
    assert found.card_model == ("T4", "", "G2")
    assert found.class_names == ("32000m 1000MiB 2 T4", "8000m 500MiB", "9000m 500MiB 8 G2")
    assert found.names == (
        "4000m 100MiB 460/1000 card", "4000m 100MiB 1 card T4", "9000m 100MiB 8 cards G2",
        "1000m 100MiB", "4000m 100MiB 460/1000 card T4|V100",
    )  # fmt: skip
    assert found.card_demand.tolist() == [0, 1, 8, 0, 0]
    assert found.card_share.tolist() == [460, 0, 0, 0, 460]
    assert found.allowed[1].tolist() == found.allowed[4].tolist() == [True, False, False]
    assert found.arrival.tolist() == [0, 1, 2, 3, 0, 4]
    assert "1 pods" in found.source
    assert lists(PODS.replace("V100|T4", ""), servers=2, copies=2).requested.tolist() == [6, 2, 2]


def test_alibaba_pods_running_at_given_second_are_read(lists):
    ends = PODS.replace("gpu_spec", "gpu_spec,creation_time,deletion_time").splitlines()
    times = [f"{row},{at},{at + 10}" for at, row in enumerate(ends[1:])]
    found = lists("\n".join([ends[0], *times]), at=12)
    assert found.arrival.tolist() == [0, 1, 2]
    with refused(InvalidOption):
        lists("\n".join([ends[0], *times]), at=100)


@pytest.mark.parametrize(
    "change",
    [
        ("460,\nq", "1460,\nq"), ("460,\nq", "0,\nq"), ("8,1000,|G2|", "8,500,"),
        ("0,0,", "0,10,"), ("gpu_milli", "gpu"), ("4000,100,1,460,\n", "4000,100,1\n"),
    ],
    ids=["more than a card", "no part", "parts of cards", "part of none", "column", "short"],
)  # fmt: skip
def test_invalid_pod_lists_are_refused(lists, change):
    old, new = change
    with refused(InvalidFile):
        lists(PODS.replace(old, new, 1))


def test_alibaba_demand_without_cards_is_refused(lists, tmp_path):
    lists()
    with refused(InvalidOption):
        alibaba_openb(tmp_path / "pods.csv", nodes=str(tmp_path / "nodes.csv"), demand=1.3)
    for pods, demand in ((PODS, 1e9), ("\n".join(PODS.splitlines()[0:5:4]), 1.3)):
        with refused(InvalidOption):
            lists(pods, demand=demand)
    with refused(InvalidOption):
        lists(PODS.splitlines()[0] + "\nu,9500,100,8,1000,G2")


def test_drawn_alibaba_pods_reach_target_demand_in_random_order(lists):
    given, units = np.array([0, 1, 2, 2, 2]), np.array([300, 1000, 0])
    orders = set()
    for seed in range(60):
        more = drawn(given, units, 4000, np.random.default_rng(seed))
        assert sorted(more[:5].tolist()) == given.tolist()
        assert 3000 < units[more].sum() <= 4000  # a pod of 300 or 1000 would pass it
        orders.add(tuple(more[:5].tolist()))
        fewer = drawn(given, units, 1000, np.random.default_rng(seed))
        assert units[fewer].sum() <= 1000
        assert (np.bincount(fewer, minlength=3) <= [1, 1, 3]).all()
    assert len(orders) > 10
    # of several cards the first decides
    eight = drawn(np.zeros(1, dtype=int), np.array([8000]), 9500, np.random.default_rng(0))
    assert len(eight) == 2
    found = lists(demand=3.0, seed=3)
    assert len(found.arrival) > 5
    assert found.arrival.tolist() == lists(demand=3.0, seed=3).arrival.tolist()


PUBLISHED = (
    "workload,policy,mean_allocated_percent\ndefault,06-FGD,80\ndefault,01-Random,0\n"
    "default,02-DotProd,80\n"
)


@pytest.mark.slow
def test_fgd_experiment_compares_means_and_bounds_with_published(lists, tmp_path, monkeypatch):
    from cotenant.papers.fgd import allocation

    monkeypatch.setattr("cotenant.papers.fgd.SECONDS", 5.0)

    pods = PODS.replace("u,9500,100,8,1000,G2\n", "")
    instance = [lists(pods, demand=1.3, seed=seed) for seed in (42, 43, 44)]
    (tmp_path / "published.csv").write_text(PUBLISHED)
    paths = {name: str(tmp_path / f"{name}.csv") for name in ("nodes", "published")}
    given = {**paths, "default": str(tmp_path / "pods.csv")}
    *found, picture = allocation(**given, draws=3)
    rows = {row.what: row for row in found}
    most = [cotenant.solve(one, "max-gpus").objective for one in instance]
    random = rows["default, random: cards allocated"]
    assert (random.paper, random.verdict) == ("0.00 %", "differs")
    assert rows["default, best fit: cards allocated"].verdict.startswith("not")
    gap = rows["default: of the cards that FGD leaves, what no policy could have won"]
    assert f"at most {np.mean(most):.3f} % by proved bounds, {np.mean(most):.3f} %" in gap.note
    assert [one.name for one in picture.series][::2] == ["random", "FGD"]
    assert len(picture.series) == 4
    assert picture.series[3].y == (round(float(np.mean(most)), 3),)
    with refused(InvalidOption):
        allocation(**paths)
