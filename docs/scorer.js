// The search finds guides before modules: a page of the reference counts less than any other.
var Scorer = {
  score: (result) => result[4] + (result[0].startsWith("reference/") ? -30 : 0),
  objNameMatch: 11, objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
