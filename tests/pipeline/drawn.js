// What a browser has drawn of the report, and what is wrong with it: {fault: [where, ...]}, empty lists where all is well.
(() => {
  const faults = { outside: [], small: [], faint: [], overlapping: [], bars: [], columns: [], lines: [], counted: 0 };
  const named = (element) =>
    `${element.tagName}.${element.className.baseVal ?? element.className} ${element.textContent.slice(0, 40)}`;
  const visible = (element) => element.checkVisibility() && element.getBoundingClientRect().width > 0;
  const clipped = (element) => {
    for (let e = element.parentElement; e; e = e.parentElement)
      if (getComputedStyle(e).overflowX !== "visible" && e !== document.body && e !== document.documentElement) return true;
    return false;
  };
  const number = (text) => parseFloat(text.replace(/,/g, "")) * (/M/.test(text) ? 1e6 : 1);
  const all = [...document.body.querySelectorAll("*")].filter(visible);

  // Nothing reaches over the window's sides.
  for (const element of all) {
    const box = element.getBoundingClientRect();
    if ((box.left < -0.5 || box.right > innerWidth + 0.5) && !clipped(element)) faults.outside.push(named(element));
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.outside.push(`all: ${document.documentElement.scrollWidth}`);

  // All text is large enough, and stands out from what is behind it.
  const rgb = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = rgb(color).slice(0, 3).map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      const parts = rgb(color);
      if (parts.length === 3 || parts[3] === 1) return color;
      if (parts[3] !== 0) throw new Error(`half transparent: ${named(e)}`);
    }
  };
  for (const element of all) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (["TITLE", "title", "desc"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    if (parseFloat(style.fontSize) < 12) faults.small.push(named(element));
    const [a, b] = [light(style.color), light(behind(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faults.faint.push(`${named(element)} ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
    faults.counted += 1;
  }
  // Of what is no text, colours stand out three to one.
  for (const mark of all.filter((e) => e.matches(".bar, .span, .legend i"))) {
    const card = mark.closest("section");
    const [a, b] = [light(getComputedStyle(mark).backgroundColor), light(behind(card))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 3) faults.faint.push(`${named(mark)} ${mark.className}`);
  }

  // No label lies on another, nor on the one of the cell beside it.
  const meet = (p, q) =>
    p.left < q.right - 0.5 && q.left < p.right - 0.5 && p.top < q.bottom - 0.5 && q.top < p.bottom - 0.5;
  const crossing = (elements) => {
    const boxes = elements.map((e) => e.getBoundingClientRect());
    for (let i = 0; i < boxes.length; i++)
      for (let j = 0; j < i; j++)
        if (meet(boxes[i], boxes[j])) faults.overlapping.push(`${named(elements[i])} | ${named(elements[j])}`);
  };
  for (const plot of all.filter((e) => e.matches(".plot"))) crossing([...plot.querySelectorAll("span, text")].filter(visible));
  for (const row of all.filter((e) => e.matches("tr"))) crossing([...row.children]);
  crossing(all.filter((e) => e.matches("section, header, .tiles > div, footer")));

  // Bars are as long as their values, the longest as long as its track.
  for (const table of all.filter((e) => e.matches("table.bars"))) {
    const rows = [...table.querySelectorAll("tbody tr")];
    const values = rows.map((row) => parseFloat(row.querySelector("[data-value]").dataset.value));
    const highest = Math.max(...values);
    rows.forEach((row, n) => {
      const track = row.querySelector(".track").getBoundingClientRect().width;
      const drawn = row.querySelector(".bar").getBoundingClientRect().width;
      const wanted = highest > 0 ? (track * Math.max(0, values[n])) / highest : 0;
      if (Math.abs(drawn - wanted) > 0.6) faults.bars.push(`${named(row)}: ${drawn} and not ${wanted}`);
    });
  }

  // Columns and lines are as high as the axis beside them says, and as the figures below them.
  for (const svg of all.filter((e) => e.matches("svg.picture"))) {
    const middle = (text) => { const box = text.getBoundingClientRect(); return (box.top + box.bottom) / 2; };
    const labels = [...svg.parentElement.querySelectorAll(".ticks span")];
    const base = svg.querySelector("line.axis").getBoundingClientRect().top;
    const top = svg.querySelectorAll("line.grid");
    const highest = labels.reduce((best, label) => (number(label.textContent) > number(best.textContent) ? label : best));
    const unit = (base - [...top].map((l) => l.getBoundingClientRect().top).sort((x, y) => x - y)[0]) / number(highest.textContent);
    const scale = svg.getBoundingClientRect().height / svg.viewBox.baseVal.height;
    labels.forEach((label) => {
      const wanted = base - unit * number(label.textContent);
      if (Math.abs(middle(label) - wanted) > 3) faults.columns.push(`label ${label.textContent}`);
    });
    const body = [...svg.closest("section").querySelectorAll("details tbody tr")];
    const series = [...svg.querySelectorAll("g.fill")];
    series.forEach((group, s) => {
      const values = body.map((row) => row.children[s + 1].textContent).filter((text) => /[1-9]/.test(text)).map(number);
      const boxes = [...group.children].map((rect) => rect.getBoundingClientRect());
      // Of shares below 0.05 % the figure is a zero and the box is there.
      if (boxes.length !== values.length) faults.columns.push(`${named(svg)}: ${boxes.length} of ${values.length}`);
      boxes.forEach((box, n) => {
        const slack = 0.6 + unit * (values[n] % 1 ? 0.051 : 0.5);
        if (Math.abs(box.height - unit * values[n]) > slack) faults.columns.push(`${svg.textContent.slice(0, 20)} ${n}: ${box.height}, ${unit * values[n]}`);
        if (box.top < svg.getBoundingClientRect().top) faults.columns.push(`${n} over the top`);
      });
    });
    const styles = [...new Set([...svg.querySelectorAll("polyline")].map((line) => line.classList[1]))];
    styles.forEach((style, s) => {
      const values = body.map((row) => row.children[s + 1].textContent).filter((text) => text !== "–").map(number);
      const lines = [...svg.querySelectorAll(`polyline.${style}`)];
      const points = lines.flatMap((line) => [...line.points]);
      if (points.length !== values.length) faults.lines.push(`${points.length} of ${values.length}`);
      const from = svg.getBoundingClientRect().top;
      points.forEach((point, n) => {
        const y = from + point.y * scale;
        if (Math.abs(base - y - unit * values[n]) > 0.6 + unit * 0.051) faults.lines.push(`${n}: ${base - y}, ${unit * values[n]}`);
      });
    });
    faults.counted += series.length + styles.length;
  }
  return faults;
})()
