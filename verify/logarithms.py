"""Integer bounds of logarithms and exponentials, in units of 1 / GRID."""

from fractions import Fraction

from .reading import MOST_DIGITS, charge, refuse_if

GRID = 2**128


def logarithm(above: int, below: int) -> tuple[int, int]:
    """Integer bounds of GRID log(above / below), both above 0.

    log 2^k m = k log 2 + 2 artanh z with z = (m - 1) / (m + 1), m from 1 to 2: at most 41 terms,
    each too low by at most 3, and a rest below 4, so less than 2 x 130 < 300 in all; as much for
    each log 2.
    """
    charge(200)
    power = above.bit_length() - below.bit_length()
    above, below = above << max(0, -power), below << max(0, power)
    if above < below:
        power, above = power - 1, 2 * above
    z, low, odd = GRID * (above - below) // (above + below), 0, 1
    square = z * z // GRID
    while z:
        low, z, odd = low + 2 * (z // odd), z * square // GRID, odd + 2
    low += power * LOG2 + 300 * min(0, power)
    return low, low + 300 * (abs(power) + 1)


LOG2 = 2 * sum(GRID // (3 * 9**n * (2 * n + 1)) for n in range(41))  # by less than 300 too low


def exponential(number: int, up: bool) -> Fraction:
    """Fraction just above (`up`) or below the exponential of number / GRID: its logarithm is off by
    less than 2^-70.
    """
    power = number // LOG2 - 1
    refuse_if(abs(power) > MOST_DIGITS, "a welfare is beyond 2^4000")
    unit = Fraction(2 ** max(0, power - 80), 2 ** max(0, 80 - power))
    low, high = 2**80, 2**83
    while high - low > 1:
        middle = (low + high) // 2
        down, top = logarithm(middle * unit.numerator, unit.denominator)
        low, high = (middle, high) if (down if up else top) <= number else (low, middle)
    return unit * (high if up else low)
