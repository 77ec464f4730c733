"""Llull (thesis, Duke University, 2017), chapter 3: the market for cores."""
