// SPDX-License-Identifier: MIT
// Pages of HTML that are generated from a seed: well-formed ones, and the same with faults in them.

// splitmix32: the same pages on every machine.
export function randomSource(seed) {
    let state = seed | 0;
    const next = () => {
        state = (state + 0x9e3779b9) | 0;
        let mixed = state ^ (state >>> 16);
        mixed = Math.imul(mixed, 0x21f0aaad);
        mixed ^= mixed >>> 15;
        mixed = Math.imul(mixed, 0x735a2d97);
        return (mixed ^ (mixed >>> 15)) >>> 0;
    };
    return { below: (end) => next() % end, pick: (list) => list[next() % list.length] };
}

const references = ["/a", "b.html", "?q=1&amp;r=2", "/x?a=1&copy=2", "//h/p", "#f", "", " /s ",
    "/&eacute;&#233;", "data:,x,y", "/\u00e9", "a&notit;b", "/&#x2F;&#47", "&lt;x&gt;"];
const blocks = ["div", "p", "ul", "li", "table", "tr", "td", "section", "h1", "blockquote", "form", "span",
    "b", "i", "em", "center", "pre", "button", "noscript", "dl", "dt", "label", "object"];
const raws = ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

function attribute(random, name, value) {
    const quote = random.pick(['"', "'", '"', ""]);
    const safe = quote === "" ? value.replace(/[\s"'>=<`]/g, "") || "z" : value.replaceAll(quote, "");
    const spelled = random.below(12) === 0 ? name.toUpperCase() : name;
    return `${random.pick([" ", " ", "\n", "\t "])}${spelled}${random.pick(["=", "=", " = "])}${quote}${safe}${quote}`;
}

function leaf(random) {
    const reference = () => random.pick(references);
    switch (random.below(19)) {
        case 0: case 1: case 2: case 3:
            return `<a${attribute(random, "href", reference())}${random.below(4) === 0 ? " rel=nofollow" : ""}>link</a>`;
        case 4: return `<img${attribute(random, "src", reference())}>`;
        case 5: return `<img${attribute(random, "srcset", `${reference()} 1x, ${reference()} 2x`)}>`;
        case 6: return `<area${attribute(random, "href", reference())}>`;
        case 7: return `<link${attribute(random, "rel", random.pick(["stylesheet", "next", "canonical", "icon", "author"]))}${attribute(random, "href", reference())}>`;
        case 8: return `<meta http-equiv=refresh content="0; url=${reference().replaceAll('"', "")}">`;
        case 9: return `<base${attribute(random, "href", reference())}>`;
        case 10: return `<script${attribute(random, "src", reference())}>if (a < b) "<a href=no>"</script>`;
        case 11: return `<video${attribute(random, "poster", reference())}><source${attribute(random, "src", reference())}></video>`;
        case 12: return `<input type=image${attribute(random, "src", reference())}>`;
        case 13: return `<embed${attribute(random, "src", reference())}><object${attribute(random, "data", reference())}></object>`;
        case 14: return `<!-- <a href=comment> -->`;
        case 15: { const name = random.pick(raws); return `<${name}><a href=raw></${name}>`; }
        case 16: return `<iframe${attribute(random, "src", reference())}></iframe>`;
        default: return random.pick(["text", "a &amp; b", "x < y", "&copy 2026", "\u20ac", "<br>", "<hr/>"]);
    }
}

function foreign(random) {
    const inner = () => random.pick([
        `<a xlink:href="${random.pick(references)}">t</a>`, `<image href=/i />`, `<style><a href=s>s</a></style>`,
        `<![CDATA[<a href=c>]]>`, `<title><a href=t>t</a></title>`, `<g><path d=x /></g>`,
        `<foreignObject><a href=f>f</a></foreignObject>`, `<desc>d</desc>`, `<use href=#u />`]);
    return random.below(3) === 0
        ? `<math><mi><a href=/m>m</a></mi><annotation-xml encoding="text/html"><a href=/ax>x</a></annotation-xml></math>`
        : `<svg>${inner()}${inner()}</svg>`;
}

function content(random, depth) {
    let text = "";
    for (let i = random.below(5); i >= 0; --i) {
        const kind = random.below(12);
        if (depth > 0 && kind < 4) {
            const name = random.pick(blocks);
            text += `<${name}>${content(random, depth - 1)}</${name}>`;
        } else if (kind === 4) {
            text += foreign(random);
        } else if (kind === 5 && depth > 0) {
            text += `<template>${content(random, depth - 1)}</template>`;
        } else {
            text += leaf(random);
        }
    }
    return text;
}

export function generated(random) {
    return `<!DOCTYPE html>\n<html><head><title>T &amp; ${random.below(100)}</title>${random.below(3) === 0 ? leaf(random) : ""}` +
        `</head><body>\n${content(random, 4)}${content(random, 3)}</body></html>\n`;
}

const faults = ["<", ">", "</", "/>", "<!--", "-->", "--!>", '"', "'", "=", "<a href=/n>", "</a>", "<svg>", "</svg>",
    "<script>", "</script>", "<template>", "</template>", "<title>", "</title>", "<style>", "</style>", "<!", "<?",
    "]]>", "<![CDATA[", "&", "</p>", "<table>", "</table>", "<select>", "</select>", "<math>", "</math>", "\0", "\r\n"];

// Cuts, doubles and inserts things.
export function mutated(random) {
    let page = generated(random);
    for (let i = random.below(4); i >= 0; --i) {
        const at = random.below(page.length + 1);
        const size = random.below(30);
        switch (random.below(4)) {
            case 0: page = page.slice(0, at) + page.slice(at + size); break;
            case 1: page = page.slice(0, at) + page.slice(at, at + size) + page.slice(at); break;
            case 2: page = page.slice(0, at) + random.pick(faults) + page.slice(at); break;
            default: page = page.slice(0, at) + random.pick(faults) + page.slice(at + size); break;
        }
    }
    return page;
}
