"""The page's style sheet: dark or light as the reader's system asks, wide or narrow as there is place."""

CSS = """
:root { color-scheme: light dark;
  --page: #f3f4f7; --card: #ffffff; --text: #1b1f27; --soft: #545c69; --line: #d9dde4; --grid: #e7eaef;
  --s1: #2f6fd0; --s2: #c46a14; --s3: #c8342f; --s4: #2b8a57; --track: #e9edf3;
  --bad: #b3261e; --bad-back: #fdecea; --good: #1d6b41; --good-back: #e6f4ec; }
@media (prefers-color-scheme: dark) { :root {
  --page: #101318; --card: #1a1e25; --text: #e7eaf0; --soft: #a6afbd; --line: #333a45; --grid: #282e38;
  --s1: #6ea6ff; --s2: #f0a858; --s3: #ff7f76; --s4: #5fce95; --track: #2a313c;
  --bad: #ff9a92; --bad-back: #3d1f1f; --good: #7fdba9; --good-back: #16331f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 20px 16px 40px; }
h1 { font-size: 1.6rem; margin: 0 0 2px; line-height: 1.2; }
h2 { font-size: 1.05rem; margin: 0; line-height: 1.3; }
p { margin: 0; } .soft { color: var(--soft); font-size: .87rem; }
header { margin-bottom: 18px; }
.tiles { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px; margin: 0 0 14px; }
@media (min-width: 640px) { .tiles { grid-template-columns: repeat(4, minmax(0, 1fr)); } }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
.tiles dt { color: var(--soft); font-size: .82rem; } .tiles dd { margin: 0; font-size: 1.35rem; font-weight: 650; }
.cards { display: grid; grid-template-columns: minmax(0, 1fr); gap: 14px; }
@media (min-width: 900px) { .cards { grid-template-columns: repeat(2, minmax(0, 1fr)); } .all { grid-column: 1 / -1; } }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px; min-width: 0;
  container-type: inline-size; }
section > .soft { margin: 2px 0 10px; }
h1 { overflow-wrap: anywhere; }
.plot { display: block; width: 100%; height: auto; } .wide { display: none; }
@container (min-width: 470px) { .wide { display: block; } .narrow { display: none; } }
.tick { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
.axis { stroke: var(--soft); } .grid { stroke: var(--grid); }
.fill { stroke: none; } .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
.hint { fill: transparent; } .hint:hover { fill: var(--soft); fill-opacity: .16; }
.fill.s1, .dot.s1 { fill: var(--s1); } .fill.s2, .dot.s2 { fill: var(--s2); }
.fill.s3, .dot.s3 { fill: var(--s3); } .fill.s4, .dot.s4 { fill: var(--s4); }
.line.s1 { stroke: var(--s1); } .line.s2 { stroke: var(--s2); } .line.s3 { stroke: var(--s3); }
.line.s4 { stroke: var(--s4); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; list-style: none; margin: 0 0 8px; padding: 0;
  font-size: .87rem; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
i.s1 { background: var(--s1); } i.s2 { background: var(--s2); } i.s3 { background: var(--s3); }
i.s4 { background: var(--s4); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .82rem; vertical-align: bottom; }
th, td { padding: 5px 0 5px 10px; vertical-align: top; overflow-wrap: anywhere; }
th:first-child, td:first-child { padding-left: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; white-space: nowrap; }
.bars { table-layout: fixed; }
.bars td { padding-top: 4px; padding-bottom: 8px; } .bars .count { width: 5.6rem; }
small { display: block; font-size: .82rem; color: var(--soft); white-space: normal; }
.name { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
.track { display: block; height: 7px; border-radius: 4px; background: var(--track); margin-top: 4px; overflow: hidden;
  position: relative; }
.empty { color: var(--soft); font-style: italic; }
.bar { display: block; height: 100%; background: var(--s1); } .bar.s3 { background: var(--s3); }
.bar.s2 { background: var(--s2); } .bar.s4 { background: var(--s4); }
.span { position: absolute; top: 0; bottom: 0; min-width: 3px; background: var(--s4); border-radius: 4px; }
.span.firing { background: var(--s3); }
details { margin-top: 10px; } summary { cursor: pointer; color: var(--soft); font-size: .87rem; padding: 4px 0; }
details .rows { max-height: 22rem; overflow-y: auto; }
details tr + tr { border-top: 1px solid var(--grid); }
.list { list-style: none; margin: 0; padding: 0; }
.list li { padding: 10px 0; overflow: hidden; overflow-wrap: anywhere; }
.list li + li { border-top: 1px solid var(--line); }
.list .head { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: baseline; }
.chip { font-size: .78rem; font-weight: 600; padding: 1px 9px; border-radius: 10px;
  background: var(--bad-back); color: var(--bad); }
.chip.good { background: var(--good-back); color: var(--good); }
.none { color: var(--soft); padding: 14px 0; }
footer { margin-top: 20px; }
@media print { section { break-inside: avoid; } details { display: none; } }
"""
