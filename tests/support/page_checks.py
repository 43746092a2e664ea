"""What holds for every page of hone ui, checked in a browser (tests/faults/web_peer.py has it): contrast, accessibility, texts that overlap or
are cut.
"""
import importlib.util
import os
import sys

# Texts that are seen, as rectangles that their scrolling parents leave; two of them may not cover each other.
OVERLAPS = """(() => {
  const seen = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.checkVisibility() || e.closest('.hidden, .skip, .picked, option, script, style, thead[class=hidden]')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (let r of range.getClientRects()) {
      let [x0, y0, x1, y1] = [r.left, r.top, r.right, r.bottom];
      for (let p = e; p && p !== document.body; p = p.parentElement) {
        const style = getComputedStyle(p);
        if (style.clipPath !== 'none' && style.position === 'absolute') { x1 = x0; break; }
        if (style.overflowX === 'visible' || p.namespaceURI.endsWith('svg')) continue;
        const b = p.getBoundingClientRect();
        x0 = Math.max(x0, b.left), y0 = Math.max(y0, b.top), x1 = Math.min(x1, b.right), y1 = Math.min(y1, b.bottom);
      }
      if (x1 - x0 > 1 && y1 - y0 > 1) seen.push({e, x0, y0, x1, y1, text: node.data.trim().slice(0, 30)});
    }
  }
  seen.sort((a, b) => a.y0 - b.y0);
  const bad = [];
  for (let i = 0; i < seen.length; ++i)
    for (let k = i + 1; k < seen.length && seen[k].y0 < seen[i].y1 - 3; ++k) {
      const a = seen[i], b = seen[k];
      if (a.e !== b.e && Math.min(a.x1, b.x1) - Math.max(a.x0, b.x0) > 1.5 && Math.min(a.y1, b.y1) - Math.max(a.y0, b.y0) > 4) bad.push(`'${a.text}' and '${b.text}'`);
    }
  return bad.slice(0, 8);
})()"""
# Texts that an element hides the end of.
CUT = """[...document.querySelectorAll('body *')].filter((e) => {
  if (!e.checkVisibility() || e.closest('svg, .hidden, .skip, progress, select, input, textarea') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) return false;
  const style = getComputedStyle(e);
  return style.clipPath === 'none' && (['hidden', 'clip'].includes(style.overflowX) || style.textOverflow === 'ellipsis') && e.scrollWidth > e.clientWidth + 1;
}).map((e) => e.textContent.trim().slice(0, 60)).slice(0, 8)"""
AXE = """axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) =>
  `${v.id} (${v.impact}): ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`))"""


def axe_file():
    """axe.min.js: HONE_AXE, or that of a Python package which has it; None if there is none."""
    if os.environ.get("HONE_AXE"):
        return os.environ["HONE_AXE"]
    for package in "axe_playwright_python", "axe_core_python", "axe_selenium_python":
        spec = importlib.util.find_spec(package)
        for top in spec.submodule_search_locations if spec else []:
            for folder, _, names in os.walk(top):
                if "axe.min.js" in names:
                    return os.path.join(folder, "axe.min.js")
    return None


def check_texts(browser, name):
    if bad := browser.run(OVERLAPS):
        sys.exit(f"{name}: texts overlap: {bad}")
    if bad := browser.run(CUT):
        sys.exit(f"{name}: texts are cut: {bad}")


def check_axe(browser, name):
    """Whether axe-core is here; it may find nothing."""
    path = axe_file()
    if path is None:
        return False
    with open(path) as f:
        browser.run(f.read() + ";0")
    if bad := browser.run(AXE):
        sys.exit(f"{name}: axe-core finds\n  " + "\n  ".join(bad))
    return True
