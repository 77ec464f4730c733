"""Public data sets, downloaded on request and checked by sha256; none ships with the package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidFile, InvalidOption, UnknownName, install


@dataclass(frozen=True)
class Dataset:
    """One file of a public data set: its address, its sha256, and the format that reads it."""

    what: str
    url: str
    sha256: str
    form: str
    license: str


DATASETS: dict[str, Dataset] = {
    "fair-co2": Dataset(
        what="measured run times of 15 workloads in pairs on one server (Fair-CO2, ISCA 2025)",
        url="https://raw.githubusercontent.com/S4AI-CornellTech/fair-co2/a1142d6f6361ca512cef306ba8ba5b93c0a12612/colocation/ref-results/runtime_colocation_matrix.csv",
        sha256="63e7f2d0c6bd6c90df69b3b5f1b5626a95e409189103076ab1d8cc99374de6ef",
        form="fair-co2",
        license="none stated in its repository",
    ),
    "lpc-egee": Dataset(
        what="235 thousand serial jobs of a 70-node cluster, 2004-2005 (LPC-EGEE, Parallel "
        "Workloads Archive, cleaned)",
        url="https://www.cs.huji.ac.il/labs/parallel/workload/l_lpc/LPC-EGEE-2004-1.2-cln.swf.gz",
        sha256="2fc37df5cc14c355fc7a88235f72e54fdf5f0d93de09399d015383ee5c35a59d",
        form="swf",
        license="free for research; acknowledge Emmanuel Medernach (LPC) and the Parallel "
        "Workloads Archive",
    ),
}


def fetch(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Download a public data set if it is absent, and return its local path.

    Raises
    ------
    UnknownName
        No data set has that name.
    InvalidFile
        It cannot be downloaded, or what came is not what is expected (sha256).
    InvalidOption
        pooch, of the extra `fetch`, is not installed.
    """
    if name not in DATASETS:
        raise UnknownName("data set", name, DATASETS)
    import logging

    try:
        import pooch
    except ImportError:
        raise InvalidOption(f"fetching needs pooch; {install('fetch')}") from None
    pooch.get_logger().setLevel(logging.WARNING)
    entry = DATASETS[name]
    target = Path(folder) if folder is not None else Path(pooch.os_cache("cotenant"))
    try:
        found = pooch.retrieve(
            entry.url,
            known_hash=f"sha256:{entry.sha256}",
            fname=f"{name}-{Path(entry.url).name}",
            path=target,
        )
    except ValueError as error:  # pooch's word for a hash that differs
        raise InvalidFile(
            f"{name}: what was downloaded from {entry.url} is not the file expected: {error}"
        ) from None
    except OSError as error:  # requests' errors are OSErrors too
        if (response := getattr(error, "response", None)) is not None:
            response.close()
        raise InvalidFile(
            f"{name} cannot be fetched from {entry.url}: {error}; download it by hand and use "
            "cotenant convert"
        ) from None
    return Path(found)
