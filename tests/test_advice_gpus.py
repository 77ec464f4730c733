"""Room for cards, gangs and pods that are not there yet: now, after moves, with new nodes, and what to
buy; losses of nodes, drains, repairs and spreads over single nodes, against enumeration.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.advice_cases import resilience, spreads_over_nodes
from support.advice_states import HOST, apart, listed, near, node, pod, spread, state
from support.advice_words import after_warnings, lines_of, most_after, written
from support.gpu_cases import gpu_claims
from support.messages import approved, refused
from support.seeds import ranges
from support.terminal import run

from cotenant.cluster.plan.answer import Answer, Proved
from cotenant.cluster.plan.buy import buy
from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.fit import fit
from cotenant.cluster.plan.gpus import MOST_GANGS, gpus
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.plan.repair import repair
from cotenant.cluster.plan.safe import safe
from cotenant.cluster.report.answers import shown
from cotenant.cluster.report.emit import emit
from cotenant.cluster.state.new_pods import new_pods, with_shape
from cotenant.cluster.state.node_types import NodeType, read_types, type_like
from cotenant.cluster.state.reading import read_state
from cotenant.cluster.state.state import CARD, SHARES, ClusterState, Node, Role
from cotenant.instances.problem.errors import InvalidFile, InvalidInstance, InvalidOption

POD_GROUP = "scheduling.x-k8s.io/pod-group"


def cards(number: int, cpu: int = 1, **more: str) -> list[dict[str, Any]]:
    """Containers of a pod that asks for cards."""
    requests = {"cpu": str(cpu), "memory": "1Gi", CARD: str(number), **more}
    return [{"name": "main", "resources": {"requests": requests}}]


def runs(name: str, on: str, number: int, **spec: Any) -> dict[str, Any]:
    return pod(name, on, containers=cards(number), **spec)


def waits(name: str, number: int, group: str = "train", **spec: Any) -> dict[str, Any]:
    labels = {POD_GROUP: group} if group else {}
    return pod(name, containers=cards(number), labels=labels | spec.pop("labels", {}), **spec)


def nodes(*numbers: int, **fields: Any) -> list[dict[str, Any]]:
    """Nodes n0, n1, ... with so many cards."""
    return [node(f"n{n}", **{CARD: str(k)}, **fields) for n, k in enumerate(numbers)]


def only(found: Answer) -> Any:
    [one] = found.steps
    return one


def never(gang: Answer) -> bool:
    """Whether it is proved that no moves admit a gang."""
    return gang.impossible.startswith("whatever")


# what is known of a state


def test_bundled_training_cluster_needs_three_moves_for_its_gang_of_pods() -> None:
    found = gpus(read_state(["state/training"]))
    gang = only(found)
    assert (gang.name, len(gang.pods), len(gang.plan.targets)) == ("ml/llama", 2, 3)
    assert (gang.plan.moves.bound, gang.plan.moves.pinned) == (3, 3)
    assert found.room[0].pieces == {0: 1, 2: 2, 6: 2}
    approved(after_warnings(found))
    assert len(lines_of(found)) <= 10


def test_best_topology_domain_of_gang_is_proved() -> None:
    found = gpus(read_state(["state/training"]), topology="rack")
    gang = only(found)
    approved(lines_of(found)[:2])
    assert (gang.domain, len(gang.plan.targets)) == ("r1", 4)
    assert gang.domains == {"r1": 4, "r2": 4}


def test_nodes_of_gang_are_cordoned_during_moves() -> None:
    advice = only(gpus(read_state(["state/training"]))).plan
    text = emit(advice, "kubectl").splitlines()
    assert advice.reserved == ("g-2", "g-3")
    assert text[3:5] == ["kubectl cordon g-2", "kubectl cordon g-3"]
    assert text[-2:] == ["kubectl uncordon g-2", "kubectl uncordon g-3"]
    assert advice.left_pending == {"LeastAllocated": (), "MostAllocated": ()}
    busy = [pod("c-1", "n2", cpu=1, containers=cards(6)), pod("d-1", "n3", containers=cards(7, 6))]
    given = state(
        *nodes(0, 8, 8, 8), runs("b-1", "n1", 1), runs("a-1", "n1", 2), *busy, waits("e-1", 8)
    )
    # one pod goes where another should, which may not come back to the node of the gang
    assert only(gpus(given)).plan.left_pending["LeastAllocated"]


def test_gang_is_admitted_with_all_its_pods_or_none() -> None:
    given = state(*nodes(2, 2), runs("a-1", "n0", 1), *(waits(f"c-{n}", 1) for n in range(4)))
    gang = only(gpus(given))
    assert gang.plan is None
    assert never(gang)
    lone = [waits(f"c-{n}", 1, "") for n in range(4)]
    alone = gpus(state(*nodes(2, 2), runs("a-1", "n0", 1), *lone))
    assert [one.status for one in alone.steps] == [True]  # of four alike the first is asked


def test_gpus_on_cordoned_nodes_are_not_free() -> None:
    given = state(
        *nodes(2), node("n1", **{CARD: "2"}, unschedulable=True),
        node("n2", **{CARD: "2"}, ready="False"), runs("a-1", "n0", 1), waits("c-1", 2),
    )  # fmt: skip
    found = gpus(given)
    assert (found.room[0].free, found.room[0].closed) == (1, 4)
    assert only(found).impossible
    approved(after_warnings(found))


# groups


@pytest.mark.parametrize(
    "about",
    [
        {"annotations": {"scheduling.k8s.io/group-name": "g"}}, {"annotations": {"pod-group-name": "g"}},
        {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}, {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}},
        {"labels": {"jobset.sigs.k8s.io/jobset-name": "g"}}, {"owner": "Job"},
        {"schedulingGroup": {"podGroupName": "g"}},
    ],
)  # fmt: skip
def test_pods_of_one_group_label_are_one_gang(about: dict[str, Any]) -> None:
    pods = (pod(f"g-{n}", containers=cards(1), **about) for n in range(2))
    given = state(*nodes(1, 1), runs("z-1", "n0", 1), *pods)
    gang = only(gpus(given))
    assert (gang.name, len(gang.pods)) == ("shop/g", 2)
    assert never(gang)


def test_gang_is_chosen_by_name_or_label() -> None:
    given = state(*nodes(2), *(waits(f"c-{n}", 1, f"g{n}", labels={"team": "a"}) for n in range(2)))
    assert [one.name for one in gpus(given).steps] == ["shop/g0", "shop/g1"]
    assert only(gpus(given, gang="shop/g1")).name == "shop/g1"
    assert len(only(gpus(given, gang="team=a")).pods) == 2


def test_scheduling_gates_of_gang_do_not_block_it() -> None:
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    given = state(
        *nodes(1), runs("a-1", "n0", 0),
        waits("c-1", 1, schedulerName="volcano", schedulingGates=gates),
    )  # fmt: skip
    assert only(gpus(given)).status
    mine = waits("c-1", 1, affinity=near("x"))
    other = only(gpus(state(*nodes(1), runs("a-1", "n0", 0), mine)))
    assert not other.status
    assert other.why_not
    assert not other.impossible


def test_gang_uses_required_topology_of_its_pods() -> None:
    notes = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    racks = [node(f"n{n}", **{CARD: "1"}, labels={"rack": f"r{n // 2}"}) for n in range(4)]
    gang = [waits(f"c-{n}", 1, annotations=notes) for n in range(2)]
    given = state(*racks, runs("a-1", "n0", 1), runs("b-1", "n1", 0), *gang)
    found = only(gpus(given))
    assert (found.topology, found.domain, set(found.plan.arrivals.values())) == (
        "rack", "r1", {"n2", "n3"},
    )  # fmt: skip
    running = runs("d-1", "n3", 1, annotations=notes)
    given = state(*racks, runs("a-1", "n0", 1), running, *gang)
    other = only(gpus(given))
    assert (other.domain, other.domains) == ("r0", {"r0": 1, "r1": 1})
    assert [given.pods[n].name for n in other.plan.targets] == ["a-1"]  # d-1 is pinned


# shares


def hami_node(name: str) -> dict[str, Any]:
    found = node(name, **{CARD: "20"})
    found["metadata"]["annotations"] = {"hami.io/node-nvidia-register": "GPU-a,10,16000"}
    return found


def test_pod_with_gpu_share_is_pinned_and_its_node_unused() -> None:
    asks = cards(1, **{"nvidia.com/gpumem": "8000"})
    given = state(
        hami_node("n0"), *(node(f"n{n}", 4, **{CARD: "1"}) for n in (1, 2)),
        pod("a-1", "n0", containers=asks), pod("b-1", "n0"), runs("c-1", "n1", 0), waits("d-1", 1),
        pod("e-1", containers=asks),
    )  # fmt: skip
    assert {k for k, _ in given.pods[0].unsupported_constraints} == {SHARES}
    assert "nvidia.com/gpumem" not in given.pods[0].requests
    found = advise(given)
    assert 0 in found.pinned
    assert "n0" not in {*found.targets.values(), *found.arrivals.values()}
    assert (list(found.arrivals), found.waiting) == ([3], (4,))
    approved(after_warnings(found, details=True))
    with refused(InvalidInstance):
        gpus(given)
    emptied = drain(state(hami_node("n0"), node("n1"), pod("f-1", "n1"), pod("g-1", "n0")), "n1")
    assert emptied.impossible == "while the pinned pods stay (proved)"


def test_reservation_pod_of_shared_gpu_stays_and_its_node_has_unknown_room() -> None:
    holds = runs("hold-1", "n0", 1, owner="", namespace="kai-resource-reservation",
                 labels={"runai-gpu-group": "u"})  # fmt: skip
    part = pod("a-1", "n0", annotations={"gpu-fraction": "0.5"})
    given = state(*nodes(1, 1), part, holds, waits("d-1", 1), runs("b-1", "n1", 1))
    assert given.pods[1].role is Role.RESIDENT
    assert [bool(one.unknown_reason) for one in given.nodes] == [True, False]
    found = advise(given)
    assert (found.waits.value, found.waits.bound, found.waiting) == (1, 0, (2,))


# what is asked wrongly, and what the command shows


def test_gpu_advice_refuses_unknown_gang_or_topology_and_cluster_without_gpus() -> None:
    given = state(*nodes(2), runs("a-1", "n0", 1), waits("c-1", 1))
    with refused(InvalidInstance):
        gpus(state(node("n0"), pod("a-1", "n0")))
    with refused(InvalidOption):
        gpus(given, gang="shop/tran")
    with refused(InvalidOption):
        gpus(given, topology="rak")


def test_several_gangs_are_answered_one_by_one() -> None:
    given = state(
        *nodes(8, 8), runs("a-1", "n0", 7), runs("b-1", "n1", 1), waits("c-1", 8, "x"),
        waits("d-1", 1, "y"), waits("e-1", 9, "z"),
    )  # fmt: skip
    found = gpus(given)
    approved(after_warnings(found))
    assert [bool(one.plan and one.plan.targets) for one in found.steps] == [True, False, False]
    assert shown(found).advice is found.steps[0].plan


@pytest.mark.slow
def test_of_23_gangs_the_20_largest_are_answered_and_others_named() -> None:
    given = state(
        *nodes(8), runs("a-1", "n0", 0), *(waits(f"c{n}-1", 1 + n % 2, f"g{n}") for n in range(23))
    )
    found = gpus(given, time_limit=20)
    assert len(found.steps) == MOST_GANGS
    assert found.unasked == ("shop/g18", "shop/g20", "shop/g22")


# against everything that is possible


@pytest.mark.slow
@pytest.mark.parametrize("some", ranges(400, 10, 20))
def test_moves_for_gangs_equal_enumeration(some: range) -> None:
    for seed in some:
        for what, held, seen in gpu_claims(seed):
            assert held, (seed, what, seen)


WEB = """apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeName: forgotten
      containers:
      - name: main
        resources: {requests: {cpu: 2, memory: 1Gi}}
"""
TYPES = "type,cpu,memory,price\nsmall,2,8Gi,0.1\nlarge,4,16Gi,0.19\n"


def two_nodes(*more: dict[str, Any]) -> ClusterState:
    """Two nodes of 4 CPUs, each with a pod of 1, and pods that wait."""
    return state(node("n1", 4), node("n2", 4), pod("a-1", "n1"), pod("b-1", "n2"), *more)


# pods that are added


def test_manifest_pods_are_read_as_pending_pods(tmp_path: Path) -> None:
    given = listed(node("n1", 8), pod("a-1", "n1"))
    read = read_state(
        [written(tmp_path, given, "s.json")], added=written(tmp_path, WEB, "web.yaml")
    )
    new = [each for each in read.pods if each.role is Role.PENDING]
    assert [each.title for each in new] == [f"shop/web-new-{n}" for n in (1, 2, 3)]
    assert {each.owner for each in new} == {("Deployment", "web")}
    assert new[0].requests == {"cpu": 2000, "memory": 2**30, "pods": 1}
    assert new[0].labels["app"] == "web"
    assert len(fit(read).arrivals) == 3
    assert read.ignored == {"Rollout": 1}


@pytest.mark.parametrize(
    ("kind", "spec", "number"),
    [("Job", {"parallelism": 4, "completions": 2}, 2), ("Job", {}, 1), ("StatefulSet", {"replicas": 2}, 2),
     ("ReplicaSet", {}, 1), ("Pod", {}, 1)],
)  # fmt: skip
def test_each_workload_kind_has_its_replicas(
    tmp_path: Path, kind: str, spec: dict[str, Any], number: int
) -> None:
    inner = {"containers": [{"name": "main"}]}
    spec = inner if kind == "Pod" else {**spec, "template": {"spec": inner}}
    item = {"kind": kind, "metadata": {"name": "x"}, "spec": spec}
    path = written(tmp_path, listed(item), "x.json")
    assert len(new_pods(path)["items"]) == number
    assert len(new_pods(path, replicas=7)["items"]) == 7


def test_volumes_of_added_stateful_set_are_unknown(tmp_path: Path) -> None:
    spec = {
        "template": {"spec": {"containers": [{"name": "main"}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
    }
    item = {"kind": "StatefulSet", "metadata": {"name": "pg"}, "spec": spec}
    paths = [written(tmp_path, listed(node("n1"), pod("a-1", "n1")), "s.json")]
    read = read_state(paths, added=written(tmp_path, item, "pg.json"))
    found = fit(read)
    assert not found.status
    approved(after_warnings(found))
    assert fit(read, released=["volumes"]).status


EMPTY = {"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}}


@pytest.mark.parametrize(
    "content",
    [{"kind": "Service"}, {"kind": "DaemonSet"}, {"kind": "CronJob"}, EMPTY, {"kind": "Pod"}, {"items": []}, "a: &a 1\nb: *a",
     "{", "a: [", "- 1", "kind: Deployment\nmetadata: {name: x}\nspec: {replicas: -1}"],
)  # fmt: skip
def test_manifest_without_pods_is_refused(tmp_path: Path, content: Any) -> None:
    with refused(InvalidFile):
        new_pods(written(tmp_path, content, "x.yaml"))


@pytest.mark.parametrize("shape", ["", "cpu", "cpu=0", "cpu=x", "cpu=1,cpu=2", "disk=1", "gpu=1"])
def test_advise_fit_refuses_invalid_pod_shapes(shape: str) -> None:
    with refused(InvalidOption, shown=shape):
        with_shape(two_nodes(), shape, 1)


def test_gpu_in_pod_shape_means_gpu_resource_of_the_nodes() -> None:
    read = with_shape(state(node("n1", **{"nvidia.com/gpu": "2"}), pod("a", "n1")), "gpu=1", 3)
    found = fit(read)
    assert len(found.arrivals) == 2 == most_after(found)
    approved(after_warnings(found))


# whether they fit


def test_fit_without_pending_pods_is_refused() -> None:
    for ask in (fit, lambda read: buy(read, [type_like(read, "n1")])):
        with refused(InvalidInstance):
            ask(two_nodes())


# what to buy


def types_of(folder: Path, read: ClusterState, text: str = TYPES) -> Any:
    return read_types(read, written(folder, text, "types.csv"))


def test_advise_fit_reads_tables_of_hosts_and_vms(tmp_path: Path) -> None:
    hosts = written(tmp_path, "name,cpu,mem\nh1,4,8\n", "hosts.csv")
    vms = written(tmp_path, "name,host,cpu,mem\nv1,h1,2,2\nv2,h1,2,2.5\n", "vms.csv")
    read = with_shape(read_state([hosts, vms]), "cpu=1.5,mem=2", 2)
    assert not fit(read).status
    found = buy(read, types_of(tmp_path, read, "type,cpu,mem,price\ns,1.5,2,1\nl,3,4,1.5\n"))
    assert found.bought == {"l": 1}
    with refused(InvalidOption):
        with_shape(read, "mem=2Gi", 1)


@pytest.mark.parametrize(
    "text",
    ["type,cpu,memory\ns,1,1Gi\n", "type,price\ns,1\n", "type,cpu,memory,price,speed\ns,1,1Gi,1,1\n",
     "type,cpu,memory,price\ns,x,1Gi,1\n", "type,cpu,memory,price\ns,1,1Gi,\n",
     "type,cpu,memory,price\ns,1,1Gi,1\ns,1,1Gi,2\n", "type,cpu,memory,price,labels\ns,1,1Gi,1,a\n",
     "type,cpu,memory,price,most\ns,1,1Gi,1,-1\n"],
)  # fmt: skip
def test_invalid_node_types_are_refused(tmp_path: Path, text: str) -> None:
    with refused(InvalidFile):
        types_of(tmp_path, two_nodes(), text)


# the commands


@pytest.mark.usefixtures("in_this_process")
def test_advise_fit_with_and_without_buying_exits_with_documented_codes(tmp_path: Path) -> None:
    given = written(tmp_path, listed(node("n1", 4), node("n2", 4), pod("a-1", "n1")), "s.json")
    web, types = written(tmp_path, WEB, "web.yaml"), written(tmp_path, TYPES, "types.csv")
    done = run("advise", "fit", given, "--add", web, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"]
    done = run("advise", "fit", given, "--shape", "cpu=4", "--replicas", "2", "--types", types)
    assert done.returncode == 1
    approved(done.stdout[done.stdout.index("no: 1 of 2") :])
    done = run("advise", "fit", given, "--add", web, "--emit", "kubectl")
    assert done.returncode != 0
    approved(done.stderr.partition("error: ")[2])
    done = run("advise", "buy", "--add", web, "--types", types, "--json")
    assert json.loads(done.stdout)["bought"] == {"large": 1, "small": 1}
    for wrong in (
        ("fit", given, "--replicas", "2"),
        ("buy", "--types", types),
        ("buy", given, "--add", web),
        ("fit", given, "--shape", "cpu=1", "--types", "n9"),
    ):
        done = run("advise", *wrong)
        assert done.returncode == 2
        approved(done.stderr.partition("error: ")[2])


@pytest.mark.parametrize("seed", range(60))
def test_advice_on_lost_nodes_of_small_clusters_equals_enumeration(seed: int) -> None:
    wrong = [(what, seen) for what, held, seen in resilience(seed) if not held]
    assert not wrong


# losses


def test_safe_command_finds_node_whose_pods_fit_elsewhere_and_zone_whose_do_not() -> None:
    items = (
        node("a1", 4, zone="a"),
        node("b1", 4, zone="b"),
        node("b2", 4, zone="b"),
        pod("x-1-a", "a1", 3),
        pod("x-1-b", "b1", 3),
        pod("x-1-c", "b2", 1),
        pod("d-1", "a1", owner="DaemonSet"),
        pod("alone", "b2", owner=""),
    )
    found = safe(state(*items))
    assert [loss.status for loss in found.steps] == [False, False, True, False, False]
    approved(after_warnings(found))
    more = state(*items, node("b3", 4, zone="b"))
    assert all(loss.status for loss in safe(more).steps if loss.kind == "node")
    approved(after_warnings(safe(more, by=[HOST])))


@pytest.mark.slow
def test_advise_safe_prints_safe_and_unsafe_losses() -> None:
    approved(run("advise", "safe", "state/shop").stdout)
    found = run("advise", "safe", "state/shop", "--release", "volumes", "--json")
    losses = json.loads(found.stdout)["steps"]
    assert {loss["name"]: loss["status"] for loss in losses}["n-3"] is True
    with refused(InvalidOption):
        safe(read_state(["state/shop"]), by=["rack"])


# several nodes


def test_advise_drain_empties_pools_and_several_nodes() -> None:
    whole = run("advise", "drain", "state/shop", "n-2", "n-4")
    approved(whole.stdout.splitlines()[:2])
    label = "topology.kubernetes.io/zone"
    document = json.loads(
        run("advise", "drain", "state/shop", "--pool", f"{label}=a", "--json").stdout
    )
    assert (document["hosts"], document["status"]) == (["cp-1", "n-1", "n-2"], False)
    for given in ("zone", f"{label}=z"):
        approved(run("advise", "drain", "state/shop", "--pool", given).stderr)


def test_drain_ignores_prices() -> None:
    read = state(node("n0"), node("n1"), pod("x-1", "n0"))
    priced = replace(read, nodes=(replace(read.nodes[0], price=Fraction(1)), read.nodes[1]))
    found = drain(priced, "n0")
    assert found.status
    assert found.plan.cost is None


# repairs


def apart_pairs() -> tuple[dict[str, Any], ...]:
    """Two groups whose pods are to be apart and run together, as after a host was restarted."""
    return (
        *(node(f"h{n}", "8") for n in range(3)),
        *(
            pod(f"{app}-1-{x}", on, labels={"app": app}, affinity=apart(app))
            for app, on in (("db", "h0"), ("lb", "h1"))
            for x in "ab"
        ),
        pod("web-1-a", "h2", 5),
    )


def test_two_broken_rules_are_repaired_in_two_moves() -> None:
    found = repair(state(*apart_pairs()))
    assert found.plan is not None
    assert (len(found.broken), len(found.plan.targets), found.left_broken) == (2, 2, ())
    assert found.plan.moves.bound == 2
    assert found.plan.freed == ()
    approved(after_warnings(found))


def spread_pods(
    counts: Sequence[int], skew: int = 1, pending: int = 0, cpu: str = "200m", **term: Any
) -> list[dict[str, Any]]:
    """So many pods of one spread over nodes on each of n0, n1, ..., and pending ones."""
    rule = {"labels": {"app": "a"}, "topologySpreadConstraints": spread("a", skew, HOST, **term)}
    places = [f"n{n}" for n, number in enumerate(counts) for _ in range(number)] + [""] * pending
    return [pod(f"a-{k}", on, cpu, "1Mi", **rule) for k, on in enumerate(places)]


@pytest.mark.slow
@pytest.mark.parametrize("some", [*ranges(600, 3, 200), range(955_126, 955_127)])
def test_advice_for_pods_spread_over_nodes_equals_enumeration(some: range) -> None:
    for seed in some:
        for what, held, seen in spreads_over_nodes(seed):
            assert held, (seed, what, seen)


@pytest.mark.parametrize("zones", [False, True])
@pytest.mark.parametrize("counts", [(2, 2, 2, 2), (3, 3, 3, 3), (1, 1, 1)])
def test_even_spread_over_nodes_is_not_reported_broken(
    counts: tuple[int, ...], zones: bool
) -> None:
    """Alone, and beside a spread over zones, which takes the zones of the instance."""

    def given(policy: str) -> ClusterState:
        nodes = [node(f"n{n}", 4, zone=f"z{n % 2}") for n in range(len(counts))]
        pods = spread_pods(counts, nodeTaintsPolicy=policy)
        for one in pods:
            one["spec"]["topologySpreadConstraints"] += spread("a", 9) * zones
        return state(*nodes, *pods)

    assert advise(given("Ignore")).broken == ()
    assert repair(given("Ignore")).broken == ()
    drained = drain(given("Ignore"), "n0")
    assert drained.why_not == {}
    assert "nodeTaintsPolicy: Honor" in str(drained.impossible)
    drained = drain(given("Honor"), "n0")
    assert drained.status
    assert drained.plan is not None
    assert len(drained.plan.targets) == counts[0]


LARGE = NodeType(
    Node("large", {"cpu": 4000, "memory": 2**34, "pods": 110}, {"pool": "new"}, price=Fraction(1))
)


@pytest.mark.parametrize(
    ("old", "selector", "nodes"),
    [
        ("8", {"pool": "new"}, 1),  # by its affinity the old node is no domain
        ("100m", {}, 8),  # without room it counts with 0
        ("400m", {}, 2),  # it has two, each other node three at most
        ("8", {}, 0),
    ],
)
def test_cost_of_nodes_bought_for_pods_spread_over_nodes_is_proved(
    old: str, selector: dict[str, str], nodes: int
) -> None:
    pods = spread_pods((), pending=8)
    for one in pods:
        one["spec"]["nodeSelector"] = selector
    bought = buy(state(node("n0", old), *pods), [LARGE])
    assert (bought.cost, bought.waiting) == (Proved(nodes, nodes), ())


def test_pending_pod_without_spread_rule_may_unbalance_pods_with_one() -> None:
    """As kube-scheduler puts it: a spread forbids nothing to pods that do not carry it."""
    counting = pod("a-0", "n1", labels={"app": "a"}, topologySpreadConstraints=spread("a"))
    free = pod("a-1", "", labels={"app": "a"})
    found = advise(state(node("n0", zone="z0"), node("n1", zone="z1"), counting, free))
    assert (found.nodes.value, found.arrivals) == (1, {1: "n1"})


def test_repair_of_pods_spread_over_zones_and_nodes_is_proved_to_need_one_move() -> None:
    """Each zone is one node: both spreads are over the same zones of the instance."""
    pods = spread_pods((0, 4), skew=3)
    for one in pods:
        one["spec"]["topologySpreadConstraints"] += spread("a", 2)
    found = repair(state(node("n0", zone="z0"), node("n1", zone="z1"), *pods))
    assert found.plan is not None
    assert found.plan.moves == Proved(1, 1, 1)
