"""Llull (thesis, Duke University, 2017), chapter 4: a blade server with shared memory."""
