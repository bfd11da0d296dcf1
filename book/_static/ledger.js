// Search and filter the table of the claims ledger, in the page, without a network.
document.addEventListener("DOMContentLoaded", () => {
  const table = [...document.querySelectorAll("#ledger table, #the-claims-ledger table")]
    .find((each) => each.tHead?.rows[0].cells[0].textContent.trim() === "id");
  if (!table) return;
  table.classList.add("ledger");

  const rows = [...table.tBodies[0].rows].map((row) => {
    // Verdict, evidence where there is any, and place.
    const parts = row.cells[1].textContent.split(" · ").map((part) => part.trim());
    return {
      row,
      paper: row.cells[0].textContent.trim().split("-")[0],
      verdict: parts[0],
      evidence: parts.length > 2 ? parts[1] : "",
      files: row.textContent.includes("On real files.") ? "looked for" : "",
      text: row.textContent.toLowerCase(),
    };
  });

  const form = document.createElement("form");
  form.className = "ledger-filter";
  form.setAttribute("role", "search");
  form.addEventListener("submit", (event) => event.preventDefault());

  const labelled = (text, field) => {
    const label = document.createElement("label");
    label.append(text, field);
    form.append(label);
    return field;
  };
  const words = labelled("Words", document.createElement("input"));
  words.type = "search";

  const columns = { paper: "Paper", verdict: "Verdict", evidence: "Evidence", files: "Real files" };
  const choices = Object.entries(columns).map(([key, text]) => {
    const select = labelled(text, document.createElement("select"));
    select.add(new Option("all", ""));
    const values = new Set(rows.map((each) => each[key]).filter(Boolean));
    for (const value of [...values].sort()) select.add(new Option(value));
    return [key, select];
  });

  const count = document.createElement("output");
  form.append(count);
  const none = document.createElement("p");
  none.textContent = "No row has all of this.";

  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const each of rows) {
      const fits =
        wanted.every((word) => each.text.includes(word)) &&
        choices.every(([key, select]) => !select.value || each[key] === select.value);
      each.row.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${rows.length} rows`;
    table.hidden = shown === 0;
    none.hidden = shown > 0;
  };
  form.addEventListener("input", filter);
  table.before(form, none);
  filter();
});
