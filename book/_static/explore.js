// Pictures with sliders, computed in the page: no kernel, no network.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 280, 24, 24, 26, 54];

  const node = (tag, attributes = {}, text = "") => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };

  // A horizontal axis from low to high, and where a share of the height is.
  const scales = (low, high) => ({
    x: (value) => LEFT + ((value - low) / (high - low)) * (WIDTH - LEFT - RIGHT),
    y: (share) => HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM),
    low,
    high,
  });

  const axis = (at, label) => {
    const parts = [node("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: at.y(0), y2: at.y(0) })];
    const rough = (at.high - at.low) / 8;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((each) => each >= rough);
    for (let tick = Math.ceil(at.low / step) * step; tick <= at.high + 1e-9; tick += step) {
      const text = String(+tick.toFixed(6));
      parts.push(node("line", { class: "axis", x1: at.x(tick), x2: at.x(tick), y1: at.y(0), y2: at.y(0) + 5 }));
      parts.push(node("text", { x: at.x(tick), y: at.y(0) + 21, "text-anchor": "middle" }, text));
    }
    parts.push(node("text", { x: WIDTH / 2, y: HEIGHT - 6, "text-anchor": "middle" }, label));
    return parts;
  };

  const curve = (at, points, look) => {
    const path = points.map(([x, share]) => `${at.x(x).toFixed(1)},${at.y(share).toFixed(1)}`);
    return node("polyline", { class: `curve ${look}`, points: path.join(" ") });
  };

  const percent = (share) => `${(100 * share).toFixed(0)}%`;

  const EXPLORERS = {
    // One record in a file of Poisson counts, whose pseudo posterior is a gamma distribution.
    weight: ({ n, total, shape, rate }) => ({
      title: "A record and its weight",
      sliders: [
        ["value", "The record's count", 0, 100, 1, 60],
        ["weight", "Its weight", 0, 1, 0.05, 0.1, (v) => v.toFixed(2)],
        ["others", "Weight of each other record", 0.05, 1, 0.05, 1, (v) => v.toFixed(2)],
      ],
      draw: ({ value, weight, others }) => {
        const without = { shape: +shape + others * total, rate: +rate + others * n };
        const own = { shape: without.shape + weight * value, rate: without.rate + weight };
        const both = [own, without].map((each) => ({
          ...each,
          mean: each.shape / each.rate,
          sd: Math.sqrt(each.shape) / each.rate,
        }));
        const low = Math.max(1e-9, Math.min(...both.map((each) => each.mean - 6 * each.sd)));
        const high = Math.max(...both.map((each) => each.mean + 6 * each.sd));
        const at = scales(
          Math.max(1e-9, Math.min(...both.map((each) => each.mean - 4 * each.sd))),
          Math.max(...both.map((each) => each.mean + 4 * each.sd)),
        );
        const size = 4000;
        const grid = Array.from({ length: size }, (_, k) => low + ((k + 0.5) / size) * (high - low));
        const [first, second] = both.map((each) => {
          const log = grid.map((mu) => (each.shape - 1) * Math.log(mu) - each.rate * mu);
          const top = Math.max(...log);
          const mass = log.map((value) => Math.exp(value - top));
          const sum = mass.reduce((a, b) => a + b);
          return mass.map((value) => value / sum);
        });
        const advantage = first.reduce((sum, p, k) => sum + Math.max(0, p - second[k]), 0);
        const tallest = Math.max(...first, ...second) * 1.05;
        const line = (mass, look) =>
          curve(at, grid.map((mu, k) => [mu, mass[k] / tallest]).filter(([mu]) => mu >= at.low && mu <= at.high), look);
        const [mean, other] = both.map((each) => each.mean);
        return {
          parts: [...axis(at, "Mean of the counts"), line(second, "second"), line(first, "first")],
          legend: [["first", "with the record"], ["second", "without it"]],
          found: [
            ["Mean of the pseudo posterior", `${mean.toFixed(2)}, without the record ${other.toFixed(2)}`],
            ["The record moves it by", `${((mean - other) / both[1].sd).toFixed(2)} standard deviations`],
            ["From one draw, the best guess whether it is there is right", `${percent((1 + advantage) / 2)} of the time`],
          ],
        };
      },
    }),

    // The income that is released for one record with a centre of its own.
    record: ({ others, mean, variance }) => {
      const incomes = others.split(" ").map(Number);
      return {
        title: "Betty's weight and the income released for her",
        sliders: [
          ["weight", "Betty's weight", 0, 1, 0.01, 1, (v) => v.toFixed(2)],
          ["own", "Her true income", 10, 90, 1, 50],
          ["spread", "How much an income varies around its centre", 0.05, 0.25, 0.01, 0.1, percent],
        ],
        draw: ({ weight, own, spread }) => {
          const at = scales(0, 100);
          const between = variance - spread ** 2;
          const precision = 1 / between + weight / spread ** 2;
          const centre = (mean / between + (weight * Math.log(own)) / spread ** 2) / precision;
          const sd = Math.sqrt(spread ** 2 + 1 / precision);
          const density = (middle, width) => (income) =>
            Math.exp(-0.5 * ((Math.log(income) - middle) / width) ** 2) / (width * income);
          const grid = Array.from({ length: 4000 }, (_, k) => (k + 0.5) / 40);
          const [hers, crowd] = [density(centre, sd), density(+mean, Math.sqrt(variance))];
          const tallest = 1.05 * Math.max(...grid.map(hers), ...grid.map(crowd));
          const step = 0.4 * own / 4000;
          const close = Array.from({ length: 4000 }, (_, k) => 0.8 * own + (k + 0.5) * step)
            .reduce((sum, income) => sum + (hers(income) * step) / Math.sqrt(2 * Math.PI), 0);
          const line = (law, look) => curve(at, grid.filter((_, k) => k % 10 === 0).map((x) => [x, law(x) / tallest]), look);
          const ends = [0.8, 1.2].map((each) => at.x(Math.min(100, each * own)));
          return {
            parts: [
              node("rect", { class: "ball", x: ends[0], width: ends[1] - ends[0], y: at.y(0.95), height: at.y(0) - at.y(0.95) }),
              ...axis(at, "Income (thousand dollars)"),
              line(crowd, "second"),
              line(hers, "first"),
              ...incomes.map((income) => node("circle", { class: "dot", cx: at.x(income), cy: at.y(0.05), r: 5 })),
              node("circle", { class: "dot truth", cx: at.x(own), cy: at.y(0.05), r: 7 }),
            ],
            legend: [["first", "released for Betty"], ["second", "released with weight 0"], ["truth", "Betty"], ["dot", "the twelve others"], ["ball", "within 20% of her own"]],
            found: [
              ["Median of what is released for her", Math.exp(centre).toFixed(1)],
              ["Chance that it is within 20% of her own", close < 0.0995 ? `${(100 * close).toFixed(1)}%` : percent(close)],
            ],
          };
        },
      };
    },

    // Identification risk of one record: the ball, the pattern, the own value.
    ball: ({ others }) => {
      const incomes = others.split(" ").map(Number);
      return {
        title: "Betty, her ball and her pattern",
        sliders: [
          ["truth", "Betty's true income", 10, 90, 1, 50],
          ["own", "Her released income", 10, 90, 1, 54],
          ["radius", "Radius", 0.05, 0.6, 0.01, 0.2, percent],
          ["size", "Records of her pattern", 2, incomes.length + 1, 1, incomes.length + 1],
        ],
        draw: ({ truth, own, radius, size }) => {
          const at = scales(0, 100);
          // As computed with rounded numbers 0.2 times 50 would not always be 10.
          const close = (value) => Math.abs(value - truth) <= radius * truth + 1e-9;
          const shown = incomes.slice(0, size - 1);
          const there = close(own) ? 1 : 0;
          const inside = shown.filter(close).length + there;
          const risk = there * ((size - inside) / size);
          const dot = (value, k, look) =>
            node("circle", { class: look, cx: at.x(value), cy: at.y(0.2 + 0.1 * (k % 5)), r: 6 });
          const ends = [1 - radius, 1 + radius].map((each) => at.x(Math.min(100, each * truth)));
          return {
            parts: [
              node("rect", { class: "ball", x: ends[0], width: ends[1] - ends[0], y: at.y(0.95), height: at.y(0) - at.y(0.95) }),
              ...axis(at, "Income (thousand dollars)"),
              ...shown.map((value, k) => dot(value, k, close(value) ? "dot near" : "dot")),
              node("circle", { class: "dot truth", cx: at.x(truth), cy: at.y(0.05), r: 7 }),
              node("rect", { class: "dot own", x: at.x(own) - 7, y: at.y(0.85) - 7, width: 14, height: 14 }),
            ],
            legend: [["truth", "true income"], ["own", "her released income"], ["dot", "released incomes of the others"], ["dot near", "those of them in the ball"], ["ball", "her ball"]],
            found: [
              ["Outside the ball", `${size - inside} of ${size}`],
              ["Her own released income", there ? "is inside the ball" : "is outside the ball"],
              ["Identification risk", there ? `${size - inside}/${size} = ${risk.toFixed(2)}` : "0"],
              ["Chance that the intruder picks her row", there ? `1/${inside}` : "0"],
            ],
          };
        },
      };
    },

    // Radius, scale, shift and k, from a table that the chapter computes.
    settings: ({ table }) => {
      const { lists, start, counts, first, bounds, largest, found } = JSON.parse(table);
      const [radii, scalesOf, shifts, constants] = lists;
      const slider = (name, text, k, format) =>
        [name, text, 0, lists[k].length - 1, 1, start[k], (place) => format(lists[k][place])];
      const top = 15;
      return {
        title: "Radius, scale, shift and k",
        sliders: [
          slider("radius", "Radius of CW", 0, (r) => (r ? r : "none: LW")),
          slider("scale", "Scale c", 1, String),
          slider("shift", "Shift g", 2, String),
          slider("k", "Re-weighting, k", 3, (k) => (k ? k : "none")),
        ],
        draw: ({ radius, scale, shift, k }) => {
          const at = scales(0, 250);
          const place = (radius * scalesOf.length + scale) * shifts.length + shift;
          const full = bounds.slice(place * counts.length, (place + 1) * counts.length);
          const weights = first[radius].map((weight, i) => {
            const before = Math.min(1, Math.max(0, scalesOf[scale] * weight + shifts[shift]));
            if (!constants[k] || !before) return before;
            return Math.min(1, (constants[k] * largest[place]) / full[i]);
          });
          const [epsilon, risk, mean, distance] = found.slice(4 * (place * constants.length + k));
          const left = epsilon !== null;
          const line = (values, look) => curve(at, counts.map((count, i) => [count, Math.min(1, values[i])]), look);
          const limit = at.y(Math.min(1, epsilon / 2 / top));
          return {
            parts: [
              ...axis(at, "Count"),
              ...[0.5, 1].map((share) =>
                node("line", { class: "axis faint", x1: LEFT, x2: WIDTH - RIGHT, y1: at.y(share), y2: at.y(share) }),
              ),
              node("text", { x: WIDTH - RIGHT, y: at.y(1) - 6, "text-anchor": "end" }, `weight 1, bound ${top} nats; half as much below`),
              ...(left ? [node("line", { class: "curve second faint", x1: LEFT, x2: WIDTH - RIGHT, y1: limit, y2: limit })] : []),
              line(full.map((bound, i) => (weights[i] * bound) / top), "second"),
              line(weights, "first"),
            ],
            legend: [["first", "weight"], ["second", "weighted bound; thin: half of epsilon"]],
            found: [
              ["Epsilon of the file", left ? `${epsilon.toFixed(1)} nats` : "too little is left of the file"],
              ["Mean weight", left ? mean.toFixed(2) : "-"],
              ["Mean identification risk", left ? risk.toFixed(3) : "-"],
              ["Distance from the file", left ? `${distance.toFixed(1)} counts` : "-"],
            ],
          };
        },
      };
    },

    // What a pure promise allows somebody to conclude, whatever she knew before.
    odds: () => ({
      title: "What a promise of epsilon allows",
      sliders: [
        ["epsilon", "Epsilon of a draw, in nats", 0, 8, 0.1, 1, (v) => v.toFixed(1)],
        ["draws", "Independent draws that are released", 1, 20, 1, 1],
        ["before", "Probability before the release", 0.01, 0.99, 0.01, 0.5, percent],
      ],
      draw: ({ epsilon, draws, before }) => {
        const at = scales(0, 8);
        const after = (nats) => 1 / (1 + ((1 - before) / before) * Math.exp(-nats));
        const grid = Array.from({ length: 161 }, (_, k) => k / 20);
        const digits = (share) => {
          if (share < 1e-4) return "under 0.01";
          if (share > 1 - 1e-4) return "over 99.99";
          return (100 * share).toFixed(share < 0.005 || share > 0.995 ? 2 : 1);
        };
        const total = epsilon * draws;
        return {
          parts: [
            ...axis(at, "Epsilon of a draw (nats)"),
            ...[0, 0.5, 1].map((share) => node("line", { class: "axis faint", x1: LEFT, x2: WIDTH - RIGHT, y1: at.y(share), y2: at.y(share) })),
            ...[0.5, 1].map((share) => node("text", { x: WIDTH - RIGHT, y: at.y(share) - 6, "text-anchor": "end" }, percent(share))),
            curve(at, grid.map((nats) => [nats, after(nats * draws)]), "first"),
            curve(at, grid.map((nats) => [nats, after(-nats * draws)]), "second"),
            node("circle", { class: "dot own", cx: at.x(epsilon), cy: at.y(after(total)), r: 6 }),
            node("circle", { class: "dot truth", cx: at.x(epsilon), cy: at.y(after(-total)), r: 6 }),
          ],
          legend: [["first", "probability after the release, at most"], ["second", "at least"]],
          found: [
            ["All draws together cost", `${total.toFixed(1)} nats`],
            ["The odds change by a factor of at most", Math.exp(total).toPrecision(3)],
            ["Probability after the release", `${digits(after(-total))}% to ${digits(after(total))}%`],
          ],
        };
      },
    }),
  };

  const build = (host) => {
    const { title, sliders, draw } = EXPLORERS[host.dataset.explorer](host.dataset);
    host.textContent = "";
    host.setAttribute("role", "group");
    host.setAttribute("aria-label", title);
    const picture = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    const legend = document.createElement("p");
    legend.className = "legend";
    const found = document.createElement("dl");
    found.setAttribute("aria-live", "polite");
    const form = document.createElement("form");
    form.addEventListener("submit", (event) => event.preventDefault());

    const fields = sliders.map(([name, text, min, max, step, start, format = String]) => {
      const label = document.createElement("label");
      const slider = document.createElement("input");
      // An output can be labelled, too: without an id the label would be the output's.
      const id = label.htmlFor = `explore-${host.dataset.explorer}-${name}`;
      Object.assign(slider, { type: "range", min, max, step, value: start, name, id });
      const shown = document.createElement("output");
      label.append(`${text}: `, shown, slider);
      form.append(label);
      return { name, slider, shown, format, start };
    });
    const reset = document.createElement("button");
    reset.type = "button";
    reset.textContent = "Start again";
    form.append(reset);

    const update = () => {
      const values = {};
      for (const { name, slider, shown, format } of fields) {
        values[name] = Number(slider.value);
        shown.textContent = format(values[name]);
        slider.setAttribute("aria-valuetext", shown.textContent);
      }
      const now = draw(values);
      const said = now.found.map(([name, value]) => `${name}: ${value}`);
      picture.setAttribute("aria-label", `${title}. ${said.join(". ")}.`);
      const isText = (part) => part.tagName === "text";
      picture.replaceChildren(...now.parts.sort((a, b) => isText(a) - isText(b)));
      legend.replaceChildren(
        ...now.legend.map(([look, text]) => {
          const item = document.createElement("span");
          item.className = `key ${look}`;
          item.textContent = text;
          return item;
        }),
      );
      found.replaceChildren(
        ...now.found.map(([name, value]) => {
          const [pair, term, text] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
          [term.textContent, text.textContent] = [name, value];
          pair.append(term, text);
          return pair;
        }),
      );
    };
    form.addEventListener("input", update);
    reset.addEventListener("click", () => {
      for (const { slider, start } of fields) slider.value = start;
      update();
    });
    host.append(picture, legend, found, form);
    update();
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-explorer]").forEach(build);
  });
})();
