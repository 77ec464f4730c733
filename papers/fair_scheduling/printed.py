"""Numbers that the paper prints: tables 1 and 2 (mean and deviation), and machines used."""

from __future__ import annotations

Row = tuple[float, float]

MACHINES = {"LPC-EGEE": 70, "PIK-IPLEX": 2560, "SHARCNET-Whale": 3072, "RICC": 8192}
"""Processors of each trace (section 7.2); LPC has 70 dual nodes, and the paper used 70."""

TABLE_1: dict[str, dict[str, Row]] = {
    "LPC-EGEE": {
        "ROUNDROBIN": (238, 353), "RAND15": (8, 21), "DIRECTCONTR": (5, 11),
        "FAIRSHARE": (16, 25), "UTFAIRSHARE": (16, 25), "CURRFAIRSHARE": (87, 106),
    },
    "PIK-IPLEX": {
        "ROUNDROBIN": (6, 33), "RAND15": (0.014, 0.01), "DIRECTCONTR": (0.02, 0.15),
        "FAIRSHARE": (0.3, 1.38), "UTFAIRSHARE": (0.3, 1.38), "CURRFAIRSHARE": (0.3, 1.58),
    },
    "SHARCNET-Whale": {
        "ROUNDROBIN": (145, 38), "RAND15": (6, 6), "DIRECTCONTR": (10, 7),
        "FAIRSHARE": (13, 8), "UTFAIRSHARE": (38, 67), "CURRFAIRSHARE": (145, 80),
    },
    "RICC": {
        "ROUNDROBIN": (2839, 357), "RAND15": (162, 187), "DIRECTCONTR": (537, 303),
        "FAIRSHARE": (626, 309), "UTFAIRSHARE": (515, 284), "CURRFAIRSHARE": (1231, 243),
    },
}  # fmt: skip
"""Windows of 5e4 seconds."""

TABLE_2: dict[str, dict[str, Row]] = {
    "LPC-EGEE": {
        "ROUNDROBIN": (4511, 6257), "RAND15": (562, 1670), "DIRECTCONTR": (410, 1083),
        "FAIRSHARE": (575, 1404), "UTFAIRSHARE": (888, 2101), "CURRFAIRSHARE": (1082, 2091),
    },
    "PIK-IPLEX": {
        "ROUNDROBIN": (242, 1420), "RAND15": (1.3, 7), "DIRECTCONTR": (0.2, 1.4),
        "FAIRSHARE": (2.3, 12), "UTFAIRSHARE": (1.2, 5), "CURRFAIRSHARE": (2.2, 11),
    },
    "SHARCNET-Whale": {
        "ROUNDROBIN": (404, 1221), "RAND15": (26, 158), "DIRECTCONTR": (60, 204),
        "FAIRSHARE": (94, 307), "UTFAIRSHARE": (120, 344), "CURRFAIRSHARE": (180, 805),
    },
    "RICC": {
        "ROUNDROBIN": (10850, 13773), "RAND15": (771, 1479), "DIRECTCONTR": (1808, 3397),
        "FAIRSHARE": (2746, 4070), "UTFAIRSHARE": (4963, 6080), "CURRFAIRSHARE": (5387, 9083),
    },
}  # fmt: skip
"""Windows of 5e5 seconds."""

PRINTED = {"1": TABLE_1, "2": TABLE_2}
