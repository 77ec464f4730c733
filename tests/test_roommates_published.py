"""Instances printed in papers, books and other libraries, with the answers known for them.

Each row: where it was printed; preference lists, best first, with the names used there; whether a
stable matching exists; how many there are (all perfect matchings enumerated); and the matching
printed beside it, if one is.
"""

import numpy as np
import pytest

from cotenant.solvers.roommates import blocking_pairs, irving, ranks_from_lists, stable_partition
from cotenant.solvers.roommates.stable_matchings import stable_matchings


def named(text):
    """'1: 2 3; 2: 1 3; ...' -> lists of indices, in the order of the names."""
    rows = dict(row.split(":") for row in text.replace("\n", " ").split(";"))
    rows = {name.strip(): liked.split() for name, liked in rows.items()}
    place = {name: index for index, name in enumerate(rows)}
    return [[place[other] for other in liked] for liked in rows.values()], place


PUBLISHED = {
    "Gale and Shapley 1962: no stable matching": ("1: 2 3 4; 2: 3 1 4; 3: 1 2 4; 4: 1 2 3", 0, ""),
    "Irving 1985, example of six": (
        "A: D F B E C; B: F C E A D; C: D E A F B; D: B F E A C; E: D B C F A; F: E A D B C",
        1,
        "A-F B-C D-E",
    ),
    "Irving 1985, p. 579, several stable matchings": (
        """1: 2 5 4 6 7 8 3; 2: 3 6 1 7 8 5 4; 3: 4 7 2 8 5 6 1; 4: 1 8 3 5 6 7 2;
           5: 6 1 8 2 3 4 7; 6: 7 2 5 3 4 1 8; 7: 8 3 6 4 1 2 5; 8: 5 4 7 1 2 3 6""",
        3,
        "",
    ),
    "Irving 1985, p. 586, no stable matching": (
        "1: 2 6 4 3 5; 2: 3 5 1 6 4; 3: 1 6 2 5 4; 4: 5 2 3 6 1; 5: 6 1 3 4 2; 6: 4 2 5 1 3",
        0,
        "",
    ),
    "Gusfield and Irving 1989, section 4.2.3": (
        """1: 8 2 9 3 6 4 5 7 10; 2: 4 3 8 9 5 1 10 6 7; 3: 5 6 8 2 1 7 10 4 9; 4: 10 7 9 3 1 6 2 5 8;
           5: 7 4 10 8 2 6 3 1 9; 6: 2 8 7 3 4 10 1 5 9; 7: 2 1 8 3 5 10 4 6 9; 8: 10 4 2 5 6 7 1 3 9;
           9: 6 7 2 5 10 3 4 8 1; 10: 3 1 6 5 2 9 8 4 7""",
        7,
        "",
    ),
    "Manlove, slides on roommates, instance I1": ("1: 3 2 4; 2: 4 3 1; 3: 2 1 4; 4: 1 3 2", 2, ""),
    "Wikipedia, stable roommates problem": (
        "1: 3 4 2 6 5; 2: 6 5 4 1 3; 3: 2 4 5 1 6; 4: 5 2 3 6 1; 5: 3 1 2 4 6; 6: 5 1 3 4 2",
        2,
        "1-6 2-4 3-5",
    ),
    "liuvince/polytech-algorithm-srp, README": (
        "A: B C F E D; B: F D A C E; C: F E B A D; D: A C E B F; E: B A D C F; F: A B D E C",
        1,
        "A-C B-F D-E",
    ),
    "matchingR, test_roommate.R, three agents": ("1: 2 3; 2: 1 3; 3: 1 2", 1, "1-2"),
    "matchingR, test_roommate.R, first": ("1: 2 3 4; 2: 1 3 4; 3: 1 2 4; 4: 1 2 3", 1, "1-2 3-4"),
    "matchingR, test_roommate.R, second": ("1: 4 3 2; 2: 1 3 4; 3: 2 1 4; 4: 1 2 3", 1, "1-4 2-3"),
    "matching, issue 124": ("a: b c d; b: a c d; c: d b a; d: c b a", 1, "a-b c-d"),
    "matching, issue 64": (
        """charlie: peter paul sam kelly elise; peter: kelly elise sam paul charlie; elise: peter sam kelly charlie paul;
           paul: elise charlie sam peter kelly; kelly: peter charlie sam elise paul; sam: charlie paul kelly elise peter""",
        2,
        "",
    ),
    "Ruby gem stable-matching 0.1.0": ("A: B D C; B: D A C; C: D A B; D: C A B", 1, "A-B C-D"),
    "two agents": ("1: 2; 2: 1", 1, "1-2"),
    "P. Prosser, University of Glasgow, twenty agents": (
        """1: 13 12 20 17 11 6 8 2 3 14 4 16 5 10 18 19 9 15 7; 2: 13 6 8 17 18 19 1 11 7 4 15 16 5 9 3 20 12 10 14;
           3: 6 16 4 9 14 13 17 19 8 2 1 12 20 5 18 15 7 11 10; 4: 11 7 8 2 17 3 15 6 19 10 9 5 1 16 13 20 18 14 12;
           5: 8 17 14 16 4 13 15 6 19 9 12 7 2 3 11 18 20 10 1; 6: 8 13 10 14 18 15 2 7 4 16 19 5 9 17 20 3 11 12 1;
           7: 13 1 4 9 19 18 11 14 10 2 17 6 15 16 5 3 12 8 20; 8: 1 6 20 7 5 15 19 4 12 3 17 9 10 14 16 2 18 11 13;
           9: 17 13 3 5 7 4 12 2 18 20 15 8 10 1 6 11 19 14 16; 10: 9 4 16 14 18 17 15 11 20 13 3 12 2 1 19 7 5 8 6;
           11: 6 15 4 1 18 14 5 3 9 2 17 13 8 7 12 20 19 10 16; 12: 5 18 7 16 6 20 19 14 9 17 3 1 8 10 11 13 2 15 4;
           13: 3 10 7 18 14 15 1 6 12 4 8 19 16 17 5 20 9 11 2; 14: 2 5 10 13 19 17 6 3 18 7 20 9 1 4 16 12 15 8 11;
           15: 12 13 5 11 2 16 18 14 1 6 17 8 19 4 10 7 20 3 9; 16: 1 7 6 5 14 18 12 17 20 11 15 10 2 13 3 8 19 9 4;
           17: 5 8 15 9 7 18 11 10 19 2 1 12 3 14 20 13 6 16 4; 18: 14 3 8 10 13 5 9 15 12 1 17 6 16 11 2 7 4 19 20;
           19: 9 15 20 12 18 1 11 5 3 2 13 14 10 7 6 16 8 17 4; 20: 5 6 18 19 16 7 4 9 2 17 8 15 1 12 13 10 14 3 11""",
        2,
        "1-8 2-4 3-9 5-17 6-14 7-13 10-16 11-15 12-18 19-20",
    ),
}


@pytest.mark.parametrize("source", PUBLISHED)
def test_irving_example_has_published_matching(source):
    text, number, printed = PUBLISHED[source]
    lists, place = named(text)
    rank = ranks_from_lists(lists)
    table = irving(rank)
    assert table.stable == (number > 0) == (len(stable_partition(rank).odd_parties) == 0)
    listed = [one.tolist() for one in stable_matchings(rank)]
    assert len(listed) == number
    assert not number or table.partner.tolist() in listed
    partner = np.full(len(lists), -1)
    for pair in printed.split():
        one, other = (place[name] for name in pair.split("-"))
        partner[one], partner[other] = other, one
    if printed:
        assert len(blocking_pairs(rank, partner)) == 0
        assert partner.tolist() in listed
