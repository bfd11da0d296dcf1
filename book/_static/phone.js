// Lines, tables and figures, also on a small screen.
document.addEventListener("DOMContentLoaded", () => {
  // A line does not begin with the mark that follows a formula.
  for (const formula of document.querySelectorAll("article span.math")) {
    const next = formula.nextSibling;
    const mark = next?.nodeType === Node.TEXT_NODE && next.data.match(/^[.,;:)!?]+/);
    if (!mark) continue;
    const whole = document.createElement("span");
    whole.className = "with-mark";
    formula.replaceWith(whole);
    whole.append(formula, mark[0]);
    next.data = next.data.slice(mark[0].length);
  }
  // Numbers of a table are set to the right, under the head of their column.
  const number = /^([-+]?(\d[\d.,]*(e[-+]?\d+)?%?(\s±\s[\d.,]+|\/\d+|\s✗)?|inf)|nan|-|)$/i;
  for (const table of document.querySelectorAll("article table.dataframe")) {
    const rows = [...table.tBodies[0].rows];
    const columns = Math.max(...rows.map((row) => row.querySelectorAll("td").length));
    const heads = table.tHead ? [...table.tHead.rows] : [];
    for (let back = 1; back <= columns; back++) {
      const cells = rows.map((row) => [...row.querySelectorAll("td")].at(-back)).filter(Boolean);
      if (!cells.every((cell) => number.test(cell.textContent.trim()))) {
        if (cells.some((cell) => cell.textContent.length > 24))
          for (const cell of cells) cell.classList.add("words");
        continue;
      }
      const above = heads.map((row) => [...row.cells].at(-back)).filter((cell) => cell?.colSpan === 1);
      for (const cell of [...cells, ...above]) cell.classList.add("number");
    }
  }
  for (const head of document.querySelectorAll("article table.dataframe tbody th"))
    head.textContent = head.textContent.replaceAll(" = ", "\u00a0=\u00a0");
  // A table that is a little too wide is set smaller, once it is seen; a wider one scrolls.
  const fit = new ResizeObserver((changes) => {
    for (const { target: table } of changes)
      for (const size of ["0.8rem", "0.75rem", "0.7rem", ""])
        if (table.scrollWidth > table.clientWidth) table.style.fontSize = size;
  });
  for (const table of document.querySelectorAll("article table.dataframe")) fit.observe(table);
  // So is a formula, down to about seven tenths; a wider one scrolls.
  const fitFormulas = new ResizeObserver((changes) => {
    for (const { target: block } of changes)
      for (const formula of block.querySelectorAll("mjx-container")) {
        formula.dataset.size ??= formula.style.fontSize; // as set by MathJax
        formula.style.fontSize = formula.dataset.size;
        const own = formula.hasAttribute("display");
        const sizeNow = () => parseFloat(getComputedStyle(formula).fontSize);
        const least = 0.68 * sizeNow();
        for (let pass = 0; pass < 3; pass++) { // spaces beside a formula do not shrink with it
          const width = own ? formula.scrollWidth : formula.getBoundingClientRect().width;
          const room = own ? formula.clientWidth : block.clientWidth - 6; // and its mark
          const size = Math.floor((10 * sizeNow() * room) / width) / 10;
          if (width <= room || size < least) break;
          formula.style.setProperty("font-size", `${size}px`, "important");
        }
      }
  });
  window.addEventListener("load", async () => {
    await window.MathJax?.startup.promise;
    for (const block of document.querySelectorAll("article p:has(mjx-container):not(table p), article div.math"))
      fitFormulas.observe(block);
  });
  // A row of a table of three columns or more, with words in it, becomes a card
  // (book.css): each cell below the other, under the head of its column, which is noted here.
  for (const table of document.querySelectorAll("article table:not(.dataframe)")) {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    const cells = [...table.tBodies[0].querySelectorAll("td")];
    const numbers = cells.every((cell) => number.test(cell.textContent.trim()));
    if (heads.length < 3 || numbers) continue;
    table.classList.add("cards");
    for (const row of table.tBodies[0].rows)
      [...row.cells].forEach((cell, column) => (cell.dataset.head = heads[column]));
  }
  // A figure leads to its picture in full size.
  for (const image of document.querySelectorAll("article figure img")) {
    const link = document.createElement("a");
    link.href = image.src;
    link.className = "full-size";
    image.replaceWith(link);
    link.append(image);
  }
});
