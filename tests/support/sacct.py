"""Jobs as the lines that Slurm's sacct prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

COLUMNS = (
    "JobIDRaw JobID User Account Partition Submit Eligible Start End ElapsedRaw Timelimit "
    "AllocCPUS ReqTRES AllocTRES State JobName"
).split()


def at(second: int) -> str:
    return f"2026-03-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def job(
    name: str, account: str, submit: int, start: int | None, run: int, cpus: int = 1, **more: str
) -> dict[str, str]:
    """A line by its columns; times in seconds of a day."""
    started = start is not None
    return {
        "JobIDRaw": name, "JobID": name, "User": f"u-{account}", "Account": account,
        "Partition": "batch", "Submit": at(submit), "Eligible": at(submit),
        "Start": at(start) if start is not None else "Unknown",
        "End": at(start + run) if start is not None else "Unknown",
        "ElapsedRaw": str(run if started else 0), "Timelimit": "01:00:00", "AllocCPUS": str(cpus),
        "ReqTRES": f"billing={cpus},cpu={cpus}", "AllocTRES": f"cpu={cpus}" * started,
        "State": "COMPLETED" if started else "PENDING", "JobName": "x", **more,
    }  # fmt: skip


def holding(
    name: str, account: str, submit: int, start: int, run: int, resources: str, cpus: int = 2
) -> dict[str, str]:
    """Line of sacct for a job that requested and got given resources."""
    return job(name, account, submit, start, run, cpus, ReqTRES=resources, AllocTRES=resources)


def text_of(
    jobs: Iterable[dict[str, str]], delimiter: str = "|", columns: Sequence[str] = COLUMNS,
    end: str = "",
) -> str:  # fmt: skip
    lines = [columns, *([each[name] for name in columns] for each in jobs)]
    return "\n".join(delimiter.join(line) + end for line in lines) + "\n"
