// The search finds the glossary first, then guides, and modules after them.
var Scorer = {
  score: (result) => result[4] + (result[0] === "glossary" ? 30 : result[0].startsWith("reference/") || result[0] === "changelog" ? -30 : 0),
  objNameMatch: 11, objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
