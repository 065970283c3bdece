// SPDX-License-Identifier: MIT
// The text format has, for each metric, its help, its type and its samples. Sources write in any
// order, so samples are collected per metric first. Reserved characters in label values and help
// texts are escaped.

#include <weir/error.hpp>
#include <weir/flow/prometheus.hpp>

#include <charconv>
#include <cmath>

namespace weir {

namespace {

void append_escaped(std::string& to, std::string_view text, bool quoted) {
    for (const char each : text) {
        if (each == '\\') {
            to += "\\\\";
        } else if (each == '\n') {
            to += "\\n";
        } else if (each == '"' && quoted) {
            to += "\\\"";
        } else {
            to += each;
        }
    }
}

void append_number(std::string& to, double value) {
    if (std::isnan(value)) {
        to += "NaN";
    } else if (std::isinf(value)) {
        to += value > 0 ? "+Inf" : "-Inf";
    } else {
        char digits[32];
        const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
        to.append(digits, end);
    }
}

void append_labels(std::string& to, std::span<const metric_label> labels,
                   std::string_view bound = {}) {
    if (labels.empty() && bound.empty()) {
        return;
    }
    to += '{';
    const char* separator = "";
    for (const metric_label& each : labels) {
        to.append(separator).append(each.name).append("=\"");
        append_escaped(to, each.value, true);
        to += '"';
        separator = ",";
    }
    if (!bound.empty()) {
        to.append(separator).append("le=\"").append(bound).append("\"");
    }
    to += '}';
}

void append_sample(std::string& to, std::string_view name, std::string_view suffix,
                   std::span<const metric_label> labels, double value,
                   std::string_view bound = {}) {
    to.append(name).append(suffix);
    append_labels(to, labels, bound);
    to += ' ';
    append_number(to, value);
    to += '\n';
}

}  // namespace

prometheus_writer::family* prometheus_writer::family_for(std::string_view name,
                                                         std::string_view help, const char* type,
                                                         std::span<const metric_label> labels) {
    auto found = families_.find(name);
    if (found == families_.end()) {
        found = families_.emplace(name, family{type, std::string(help), {}, {}}).first;
    } else if (std::string_view(found->second.type) != type) {
        throw invalid_argument("the metric " + std::string(name) + " is a " + found->second.type +
                               " and cannot also be a " + type);
    }
    std::string source;
    append_labels(source, labels);
    return found->second.sources.insert(std::move(source)).second ? &found->second : nullptr;
}

void prometheus_writer::counter(std::string_view name, std::string_view help,
                                std::span<const metric_label> labels, double value) {
    if (family* to = family_for(name, help, "counter", labels)) {
        append_sample(to->samples, name, "", labels, value);
    }
}

void prometheus_writer::gauge(std::string_view name, std::string_view help,
                              std::span<const metric_label> labels, double value) {
    if (family* to = family_for(name, help, "gauge", labels)) {
        append_sample(to->samples, name, "", labels, value);
    }
}

void prometheus_writer::histogram(std::string_view name, std::string_view help,
                                  std::span<const metric_label> labels,
                                  std::span<const double> bounds,
                                  std::span<const std::uint64_t> counts, std::uint64_t count,
                                  double sum) {
    family* const to = family_for(name, help, "histogram", labels);
    if (to == nullptr) {
        return;
    }
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        char digits[400];  // without exponent: series are matched by the text of their bounds
        const auto end =
            std::to_chars(digits, digits + sizeof digits, bounds[i], std::chars_format::fixed).ptr;
        const std::string_view bound(digits, static_cast<std::size_t>(end - digits));
        append_sample(to->samples, name, "_bucket", labels, static_cast<double>(counts[i]), bound);
    }
    append_sample(to->samples, name, "_bucket", labels, static_cast<double>(count), "+Inf");
    append_sample(to->samples, name, "_sum", labels, sum);
    append_sample(to->samples, name, "_count", labels, static_cast<double>(count));
}

std::string prometheus_writer::text() const {
    std::string page;
    for (const auto& [name, each] : families_) {
        page.append("# HELP ").append(name).append(" ");
        append_escaped(page, each.help, false);
        page.append("\n# TYPE ").append(name).append(" ").append(each.type).append("\n");
        page.append(each.samples);
    }
    return page;
}

}  // namespace weir
