// What a small screen needs.
document.addEventListener("DOMContentLoaded", () => {
  // A row of a table of three columns or more becomes a card (book.css): each cell below
  // the other, under the head of its column, which is noted here.
  for (const table of document.querySelectorAll("article table:not(.dataframe)")) {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    if (heads.length < 3) continue;
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
