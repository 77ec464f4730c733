"""Loopback API server that answers kubectl's reads from a state, in pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

_GROUPS = {
    "/api/v1": [
        ("nodes", "Node", False, "no"),
        ("namespaces", "Namespace", False, "ns"),
        ("pods", "Pod", True, "po"),
        ("persistentvolumes", "PersistentVolume", False, "pv"),
        ("persistentvolumeclaims", "PersistentVolumeClaim", True, "pvc"),
    ],
    "/apis/policy/v1": [("poddisruptionbudgets", "PodDisruptionBudget", True, "pdb")],
    "/apis/storage.k8s.io/v1": [
        ("csinodes", "CSINode", False, "csinode"),
        ("storageclasses", "StorageClass", False, "sc"),
    ],
    "/apis/kueue.x-k8s.io/v1beta2": [
        ("workloads", "Workload", True, "wl"),
        ("clusterqueues", "ClusterQueue", False, "cq"),
        ("cohorts", "Cohort", False, "cohort"),
        ("localqueues", "LocalQueue", True, "lq"),
        ("resourceflavors", "ResourceFlavor", False, "rf"),
    ],
}
_VERSIONS = {
    name: {"groupVersion": f"{name}/{version}", "version": version}
    for name, version in (("policy", "v1"), ("storage.k8s.io", "v1"), ("kueue.x-k8s.io", "v1beta2"))
}
_DISCOVERY: dict[str, Any] = {
    "/version": {"major": "1", "minor": "31", "gitVersion": "v1.31.2", "platform": "linux/amd64"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {"name": name, "versions": [version], "preferredVersion": version}
            for name, version in _VERSIONS.items()
        ],
    },
    **{
        path: {
            "kind": "APIResourceList",
            "groupVersion": path.split("/", 2)[2],
            "resources": [
                {"name": name, "singularName": kind.lower(), "namespaced": of_namespace, "kind": kind,
                 "verbs": ["get", "list"], "shortNames": [short]}
                for name, kind, of_namespace, short in resources
            ],
        }
        for path, resources in _GROUPS.items()
    },
}  # fmt: skip


def _listed(path: str, query: dict[str, list[str]], items: list[dict[str, Any]]) -> Any:
    """One page of a list; None where there is no such list."""
    for group, resources in _GROUPS.items():
        for name, kind, _, _ in resources:
            if path != f"{group}/{name}":
                continue
            ours = [
                {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}
                for item in items
                if item["kind"] == kind
            ]
            first = int(query.get("continue", ["0"])[0])
            last = first + (int(query.get("limit", ["0"])[0]) or len(ours))
            about = {"resourceVersion": "7"} | ({"continue": str(last)} if last < len(ours) else {})
            version = group.split("/", 2)[2]
            return {
                "kind": f"{kind}List",
                "apiVersion": version,
                "metadata": about,
                "items": ours[first:last],
            }
    return None


@contextmanager
def serving(items: list[dict[str, Any]], forbidden: str = "") -> Iterator[str]:
    """Address of a server of given objects, which forbids listing one kind."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            asked = urlparse(self.path)
            body = _DISCOVERY.get(asked.path) or _listed(asked.path, parse_qs(asked.query), items)
            code = 200 if body else 404
            if forbidden and asked.path.endswith(f"/{forbidden}"):
                code, body = 403, None
            why = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
            why |= {"reason": "Forbidden", "message": f"{forbidden} is forbidden"}
            text = json.dumps(body or why).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
