// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

// svgStyle is the style sheet of FormatSVG. It defines each colour once for a light and
// once for a dark background.
const svgStyle = `
svg{--ground:#fff;--text:#1f2328;--muted:#57606a;--line:#57606a;--chart:#f6f8fa;--rim:#8c959f;
--layer:#ddf4ff;--layer-rim:#0969da;--single:#fbefff;--single-rim:#8250df;--rest:#fff;--hook:#fff1e5;--hook-rim:#bc4c00;
--new:#116329;--gone:#b3202b;--moved:#7d4e00}
@media (prefers-color-scheme:dark){svg{--ground:#0d1117;--text:#e6edf3;--muted:#a3acb6;--line:#9198a1;--chart:#151b23;--rim:#656c76;
--layer:#122540;--layer-rim:#4493f8;--single:#261c3d;--single-rim:#ab7df8;--rest:#0d1117;--hook:#2f1d12;--hook-rim:#db6d28;
--new:#56d364;--gone:#ff8182;--moved:#e3b341}}
text{font:12px "DejaVu Sans Mono",Menlo,Consolas,"Liberation Mono",monospace;fill:var(--muted);white-space:pre}
.title{font-weight:bold;fill:var(--text)}
.ground{fill:var(--ground)}
.box rect{fill:var(--chart);stroke:var(--rim)}
.group rect{fill:none;stroke:var(--rim);stroke-dasharray:5 4}
.layer rect{fill:var(--layer);stroke:var(--layer-rim)}
.single rect{fill:var(--single);stroke:var(--single-rim)}
.rest rect{fill:var(--rest);stroke:var(--rim)}
.hooks rect,.bucket rect{fill:none;stroke:var(--hook-rim);stroke-dasharray:5 4}
.bucket rect{stroke-dasharray:none}
.hook rect{fill:var(--hook);stroke:var(--hook-rim)}
.edge path{fill:none;stroke:var(--line);stroke-width:1.4}
.edge:hover path{stroke-width:4}
.side path{stroke:var(--hook-rim);stroke-dasharray:2 4}
g.new>rect,.edge.new path{stroke:var(--new);stroke-width:2.5}
g.gone>rect,.edge.gone path{stroke:var(--gone);stroke-width:2;stroke-dasharray:6 4}
.new>.title,text.new{fill:var(--new)}
.gone>.title,text.gone{fill:var(--gone)}
g.edge path.head{stroke-dasharray:none}
text.moved{fill:var(--moved)}
`
