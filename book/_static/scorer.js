// What a search finds. Titles that have all words of the query come first, and the
// glossary, which has an entry for most of them, comes after the chapters.
const wordsOfQuery = (new URLSearchParams(window.location.search).get("q") || "")
  .toLowerCase()
  .split(/\s+/);

var Scorer = {
  score: ([page, title, , , score]) => {
    if (page.startsWith("book/appendix/notation")) return Math.min(score, 20);
    const named = title.toLowerCase();
    const all = wordsOfQuery.every((word) => named.includes(word));
    return score + (all ? (page.startsWith("book/api") ? 50 : 100) : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// The lines under a title are those of the article, without the bar above it.
const textOfPage = Search.htmlToText;
Search.htmlToText = (html, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const article = page.querySelector("article.bd-article");
  if (article === null) return textOfPage(html, anchor);
  page.querySelector("[role=main]").removeAttribute("role");
  article.setAttribute("role", "main");
  return textOfPage(page.documentElement.outerHTML, anchor);
};
