// SPDX-License-Identifier: MIT
// The same report as text for people, JSON and CSV for programs, JUnit XML for CI servers, and
// Markdown for comments on changes.

#include "base/json_text.hpp"

#include <weir/crawl/link_report.hpp>
#include <weir/error.hpp>

#include <utility>

namespace weir::crawl {

namespace {

std::string place_text(const link_place& place) {
    if (place.page.empty()) {
        return "(given as a seed)";
    }
    return place.line == 0
               ? place.page
               : place.page + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string totals_text(const link_report& report) {
    return std::to_string(report.broken.size()) + " broken, " + std::to_string(report.accepted) +
           " accepted, " + std::to_string(report.unknown) + " unknown of " +
           std::to_string(report.targets) + " URLs; " + std::to_string(report.links) +
           " links on " + std::to_string(report.pages) + " pages";
}

std::string report_as_text(const link_report& report) {
    std::string text;
    for (const broken_target& each : report.broken) {
        text += each.url + "\n  " + each.reason + "\n";
        for (const link_place& place : each.places) {
            text += "  at " + place_text(place) + "\n";
        }
    }
    return text + totals_text(report) + "\n";
}

std::string report_as_markdown(const link_report& report) {
    std::string text = "# Links\n\n" + totals_text(report) + "\n";
    for (const broken_target& each : report.broken) {
        text += "\n## <" + each.url + ">\n\n" + each.reason + "\n\n";
        for (const link_place& place : each.places) {
            text += "- " + place_text(place) + "\n";
        }
    }
    return text;
}

std::string report_as_json(const link_report& report) {
    std::string text = "{\"pages\":" + std::to_string(report.pages) +
                       ",\"links\":" + std::to_string(report.links) +
                       ",\"targets\":" + std::to_string(report.targets) +
                       ",\"unknown\":" + std::to_string(report.unknown) +
                       ",\"accepted\":" + std::to_string(report.accepted) + ",\"broken\":[";
    const char* before = "\n";
    for (const broken_target& each : report.broken) {
        text += std::exchange(before, ",\n");
        text += "{\"url\":";
        base::append_json_string(text, each.url);
        text += ",\"reason\":";
        base::append_json_string(text, each.reason);
        text += ",\"status\":" + std::to_string(each.status) + ",\"places\":[";
        const char* comma = "";
        for (const link_place& place : each.places) {
            text += std::exchange(comma, ",");
            text += "{\"page\":";
            base::append_json_string(text, place.page);
            text += ",\"line\":" + std::to_string(place.line) +
                    ",\"column\":" + std::to_string(place.column) + ",\"kind\":";
            base::append_json_string(text, name_of(place.kind));
            text += "}";
        }
        text += "]}";
    }
    return text + "\n]}\n";
}

std::string csv_field(std::string_view text) {
    std::string field = "\"";
    for (const char c : text) {
        field.append(c == '"' ? 2 : 1, c);
    }
    return field + "\"";
}

std::string report_as_csv(const link_report& report) {
    std::string text = "url,status,reason,page,line,column,kind\r\n";
    for (const broken_target& each : report.broken) {
        for (const link_place& place : each.places) {
            text += csv_field(each.url) + "," + std::to_string(each.status) + "," +
                    csv_field(each.reason) + "," + csv_field(place.page) + "," +
                    std::to_string(place.line) + "," + std::to_string(place.column) + "," +
                    std::string(name_of(place.kind)) + "\r\n";
        }
    }
    return text;
}

std::string xml_text(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            default:
                escaped += static_cast<unsigned char>(c) < ' ' && c != '\n' ? ' ' : c;
        }
    }
    return escaped;
}

std::string report_as_junit(const link_report& report) {
    std::string text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"links\" tests=\"" +
        std::to_string(report.targets) + "\" failures=\"" + std::to_string(report.broken.size()) +
        "\" skipped=\"" + std::to_string(report.unknown) + "\">\n";
    for (const broken_target& each : report.broken) {
        text += "  <testcase classname=\"links\" name=\"" + xml_text(each.url) +
                "\"><failure message=\"" + xml_text(each.reason) + "\">";
        for (const link_place& place : each.places) {
            text += "\n" + xml_text(place_text(place));
        }
        text += "\n</failure></testcase>\n";
    }
    return text + "</testsuite>\n";
}

}  // namespace

std::string format_report(const link_report& report, std::string_view format) {
    if (format == "text") {
        return report_as_text(report);
    }
    if (format == "json") {
        return report_as_json(report);
    }
    if (format == "csv") {
        return report_as_csv(report);
    }
    if (format == "junit") {
        return report_as_junit(report);
    }
    if (format == "markdown") {
        return report_as_markdown(report);
    }
    throw invalid_argument("'" + std::string(format) +
                           "' is no format of a report: text, json, csv, junit, markdown");
}

}  // namespace weir::crawl
