"""What JSON of others looks like: the state of a cluster, and how to read it."""

from __future__ import annotations

from typing import Any

_OPENSTACK = {
    "servers": {"ID", "Name", "Status"},
    "hypervisors": {"Hypervisor Hostname"},
    "flavors": {"RAM", "VCPUs", "Name"},
}


def looks_like(content: Any) -> str:
    """What a cluster's JSON is: "kubernetes", "proxmox", or "openstack" and the kind of list; ""
    for anything else.
    """
    if isinstance(content, dict):
        kubernetes = isinstance(content.get("kind"), str) and "apiVersion" in content
        return "kubernetes" if kubernetes else ""
    if not isinstance(content, list) or not content or not isinstance(content[0], dict):
        return ""
    first = content[0]
    if isinstance(first.get("type"), str) and isinstance(first.get("id"), str):
        return "proxmox"
    fits = [kind for kind, names in _OPENSTACK.items() if names <= set(first)]
    return f"openstack {fits[0]}" if fits else ""


def hint(content: Any) -> str:
    """A sentence on what JSON looks like and what takes it; "" where nothing is known of it."""
    found = looks_like(content)
    if not found:
        return ""
    platform = found.partition(" ")[0]
    what = {
        "kubernetes": "a Kubernetes List",
        "proxmox": "Proxmox's list of cluster resources",
        "openstack": f"OpenStack's list of {found.partition(' ')[2]}",
    }[platform]
    return (
        f"this looks like {what}: `cotenant advise nodes FILE` reads it, and `cotenant convert "
        f"FILE --from {platform}` makes an instance of it"
    )
