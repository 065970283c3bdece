// SPDX-License-Identifier: MIT
// References are resolved here, so that the graph has all links, also those that the crawl does not
// follow. References that are no http or https URL are left out.

#include "base/json_text.hpp"
#include "crawl/output/markup_text.hpp"

#include <weir/crawl/graph_sink.hpp>
#include <weir/http/url.hpp>

#include <optional>
#include <utility>

namespace weir::crawl {
namespace {

std::string_view graph_begin(graph_format format) noexcept {
    switch (format) {
        case graph_format::csv:
            return "from,to,kind,rel,line,column\r\n";
        case graph_format::dot:
            return "digraph crawl {\n";
        case graph_format::graphml:
            return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
                   "<key id=\"kind\" for=\"edge\" attr.name=\"kind\" attr.type=\"string\"/>\n"
                   "<graph edgedefault=\"directed\">\n";
        case graph_format::jsonl:
            break;
    }
    return {};
}

std::string_view graph_end(graph_format format) noexcept {
    switch (format) {
        case graph_format::dot:
            return "}\n";
        case graph_format::graphml:
            return "</graph>\n</graphml>\n";
        default:
            return {};
    }
}

struct graph_edge {
    std::string_view from;
    std::string_view to;
    const page_link* link;
};

void append_edge(std::string& to, graph_format format, const graph_edge& edge) {
    const auto number = [&](auto value) { base::append_number(to, value); };
    switch (format) {
        case graph_format::jsonl:
            to += "{\"from\":";
            base::append_json_string(to, edge.from);
            to += ",\"to\":";
            base::append_json_string(to, edge.to);
            to.append(",\"kind\":\"").append(name_of(edge.link->kind)).append("\",\"rel\":");
            base::append_json_string(to, edge.link->rel);
            to += ",\"line\":";
            number(edge.link->line);
            to += ",\"column\":";
            number(edge.link->column);
            to += "}\n";
            break;
        case graph_format::csv:
            for (const std::string_view text :
                 {edge.from, edge.to, name_of(edge.link->kind), std::string_view(edge.link->rel)}) {
                detail::append_csv_text(to, text);
                to += ',';
            }
            number(edge.link->line);
            to += ',';
            number(edge.link->column);
            to += "\r\n";
            break;
        case graph_format::dot:  // URLs in normal form have no quotes
            to.append("\"").append(edge.from).append("\" -> \"").append(edge.to);
            to.append("\" [kind=").append(name_of(edge.link->kind)).append("];\n");
            break;
        case graph_format::graphml:
            to += "<edge source=\"";
            detail::append_markup_text(to, edge.from);
            to += "\" target=\"";
            detail::append_markup_text(to, edge.to);
            to.append("\"><data key=\"kind\">").append(name_of(edge.link->kind));
            to += "</data></edge>\n";
            break;
    }
}

}  // namespace

graph_format graph_format_of(std::string_view path) noexcept {
    return path.ends_with(".csv")                            ? graph_format::csv
           : path.ends_with(".dot") || path.ends_with(".gv") ? graph_format::dot
           : path.ends_with(".graphml")                      ? graph_format::graphml
                                                             : graph_format::jsonl;
}

graph_sink::graph_sink(std::string path) : graph_sink(path, graph_format_of(path)) {}
graph_sink::graph_sink(std::string path, graph_format format)
    : file_sink("graph", std::move(path), graph_begin(format), graph_end(format)),
      format_(format) {}

void graph_sink::write(const page& settled) {
    const auto base = http::url::try_parse(settled.base.empty() ? settled.url : settled.base);
    if (!base) {
        return;
    }
    std::string& to = text();
    if (format_ == graph_format::graphml) {
        to += "<node id=\"";
        detail::append_markup_text(to, settled.url);
        to += "\"/>\n";
    }
    for (const page_link& each : settled.document_links) {
        const std::optional<http::url> target = base->try_resolve(each.reference);
        if (target && target->scheme().starts_with("http")) {
            const http::url shown = target->canonical().without_fragment();
            append_edge(to, format_, {settled.url, shown.text(), &each});
        }
    }
}

}  // namespace weir::crawl
