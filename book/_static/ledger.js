// Search and filter the table of the claims ledger, in the page, without a network.
document.addEventListener("DOMContentLoaded", () => {
  const table = [...document.querySelectorAll("#ledger table, #the-claims-ledger table")]
    .find((each) => each.tHead?.rows[0].cells[0].textContent.trim() === "id");
  if (!table) return;

  const rows = [...table.tBodies[0].rows].map((row) => ({
    row,
    paper: row.cells[0].textContent.trim().split("-")[0],
    status: row.cells[1].textContent.split(",")[0].trim(),
    files: row.textContent.includes("On real files.") ? "looked for" : "",
    text: row.textContent.toLowerCase(),
  }));

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

  const choices = [["Paper", "paper"], ["Status", "status"], ["Real files", "files"]].map(
    ([text, key]) => {
      const select = labelled(text, document.createElement("select"));
      select.add(new Option("all", ""));
      const values = new Set(rows.map((each) => each[key]).filter(Boolean));
      for (const value of [...values].sort()) select.add(new Option(value));
      return [key, select];
    },
  );

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
