"""The predictor, the experiments and the command line of core allocation."""

from __future__ import annotations

import numpy as np
import pytest
from support.measured import DATA as MEASURED
from support.messages import refused

from cotenant.analysis.market.profiles import fit, prediction_errors
from cotenant.instances.market.profile import Profile, read_profile
from cotenant.instances.problem import InvalidOption

DATA = MEASURED / "speedup"


def amdahl_profile(fraction: float = 0.9, base: float = 5.0, slope: float = 2.0) -> Profile:
    """Run times that follow Amdahl's law and a line in data size exactly."""
    rows = [(size, cores) for size in (1.0, 2.0, 6.0, 24.0) for cores in (1.0, 4.0, 12.0, 48.0)]
    seconds = [(base + slope * size) * (1 - fraction + fraction / cores) for size, cores in rows]
    return Profile(
        ("svm",) * len(rows),
        np.array([r[0] for r in rows]),
        np.array([r[1] for r in rows]),
        np.array(seconds),
    )


def test_speedup_predictor_is_exact_under_its_models() -> None:
    profile = amdahl_profile()
    (learnt,) = fit(profile.only(profile.size < 24))
    assert learnt.fraction == pytest.approx(0.9)
    assert learnt.cores == 48
    assert learnt.seconds(24, 12) == pytest.approx((5 + 48) * (0.1 + 0.9 / 12))  # thesis eq. 3.3
    errors = prediction_errors(profile)
    assert len(errors) == 4
    assert (errors["size"] == 24).all()
    assert errors["error"].max() < 1e-9


def test_every_other_core_count_can_be_held_out() -> None:
    profile = amdahl_profile()
    errors = prediction_errors(profile.only(profile.size == 1), holdout="every-other-count")
    assert errors["cores"].tolist() == [12]
    assert errors["error"].max() < 1e-9
    with refused(InvalidOption):
        prediction_errors(profile.only(profile.size == 1))
    with refused(InvalidOption):
        prediction_errors(profile, holdout="all")


def test_predictions_of_the_measured_profile_are_worst_for_canneal() -> None:
    path = DATA / "p3arsec_speedup.csv"
    if not path.exists():
        pytest.skip("measured data of others is not at hand")
    profile = read_profile(path, where="platform=xeon_server,implementation=Pthreads")
    errors = (
        prediction_errors(profile, holdout="every-other-count", most_cores=24)
        .groupby("workload")["error"]
        .mean()
    )
    assert errors.median() < 0.10
    assert errors.idxmax() == "canneal"  # as the thesis says of memory-bound applications
