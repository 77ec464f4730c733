"""Admission: which job runs on which VM, on how many cores of each type, as a mixed-integer linear
program.

x[j, v] = 1 when job j runs on VM v, y[j, v, c] the cores of type c it holds there:

    most    sum over j, v, c of speed[j, c] y[j, v, c]
    such that   sum over v of x[j, v] <= 1                       a job is on at most one VM
                sum over c of y[j, v, c] <= threads[j] x[j, v]   and uses at most its threads
                y[j, v, c] <= min(threads[j], cores[v, c]) x[j, v]
                sum over j of y[j, v, c] <= cores[v, c]          no core is used twice.

- The optimum chooses cores by type inside each VM: a job's own best-first choice of free cores,
  which the schemes of the paper follow, need not hold in it.
- Once x is fixed, y solves one transportation problem per VM, which has a whole-number optimum, so
  y need not be declared whole.
- The third row gives the strength: with it the speed on the empty VM times x[j, v] bounds what a
  pair adds (adding that as a cut of its own changes nothing, and without the third row it is all
  that is left of it). The value of the relaxation is that of the best prices
  (`instances.admission.rules`).
- VMs with equal cores are interchangeable. Their copies are ordered by the lowest job on them: x[j,
  copy k] <= sum over i < j of x[i, copy k - 1].

`arrays` builds the program as sparse matrices for the solvers, `readable` states it in Pyomo; tests
hold both to the same optimum. `blocking` adds the number of blocking pairs.
"""

from .arrays import AdmissionProgram, assignment_program

__all__ = ["AdmissionProgram", "assignment_program"]
