// SPDX-License-Identifier: MIT
// A drawing with time from left to right. Light or dark as the reader's theme is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace timelines {

// Seconds since the beginning.
inline double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

class chart {
public:
    static constexpr double width = 880;
    static constexpr double left = 150;
    static constexpr double right = 20;
    static constexpr double end = 24;  // seconds

    chart(std::string_view title, std::string_view subtitle, double height) : height_(height) {
        text(20, 28, title, "head");
        text(20, 46, subtitle);
    }

    static double x(double at) { return left + (width - left - right) * at / end; }

    void text(double x, double y, std::string_view words, std::string_view kind = "",
              std::string_view anchor = "start") {
        put("<text class=\"" + std::string(kind) + "\" x=\"" + number(x) + "\" y=\"" + number(y) +
            "\" text-anchor=\"" + std::string(anchor) + "\">" + std::string(words) + "</text>");
    }
    void line(double x1, double y1, double x2, double y2, std::string_view kind) {
        put("<line class=\"" + std::string(kind) + "\" x1=\"" + number(x1) + "\" y1=\"" +
            number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) + "\"/>");
    }
    void box(double x, double y, double w, double h, std::string_view kind) {
        put("<rect class=\"" + std::string(kind) + "\" x=\"" + number(x) + "\" y=\"" + number(y) +
            "\" width=\"" + number(w) + "\" height=\"" + number(h) + "\"/>");
    }
    void dot(double x, double y, double radius, std::string_view kind) {
        put("<circle class=\"" + std::string(kind) + "\" cx=\"" + number(x) + "\" cy=\"" +
            number(y) + "\" r=\"" + number(radius) + "\"/>");
    }
    // A mark at a time, in a row.
    void tick(double at, double top, double bottom, std::string_view kind) {
        line(x(at), top, x(at), bottom, kind);
    }
    void path(const std::vector<std::pair<double, double>>& points, std::string_view kind) {
        std::string drawn;
        for (const auto& [px, py] : points) {
            drawn += drawn.empty() ? "M" : " L";
            drawn += number(px) + " " + number(py);
        }
        put("<path class=\"" + std::string(kind) + "\" d=\"" + drawn + "\"/>");
    }

    // A row: its name on the left, and a line to stand on.
    void row(double baseline, std::string_view name, std::string_view below = {}) {
        text(left - 12, baseline - (below.empty() ? 4 : 10), name, "title", "end");
        if (!below.empty()) {
            text(left - 12, baseline + 3, below, "small", "end");
        }
        line(left, baseline, width - right, baseline, "grid");
    }
    // Seconds, along the bottom.
    void time_axis(double top, double bottom) {
        for (int second = 0; second <= static_cast<int>(end); second += 2) {
            line(x(second), top, x(second), bottom, "faint");
            text(x(second), bottom + 14, std::to_string(second), "small", "middle");
        }
        text(width - right, bottom + 28, "seconds", "small", "end");
    }
    // A scale on the left of a plot.
    void value_axis(double top, double bottom, double most, double step, std::string_view name) {
        for (double value = 0; value <= most; value += step) {
            const double y = bottom - (bottom - top) * value / most;
            line(left, y, width - right, y, "grid");
            text(left - 8, y + 3, number(value, 0), "small", "end");
        }
        text(left - 30, (top + bottom) / 2, name, "title", "end");
    }
    void key(double x, double y, std::string_view kind, std::string_view words) {
        line(x, y - 10, x, y + 1, kind);
        text(x + 7, y, words, "small");
    }

    std::string svg(std::string_view title) const {
        std::string page = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width, 0) +
                           "\" height=\"" + number(height_, 0) + "\" viewBox=\"0 0 " +
                           number(width, 0) + " " + number(height_, 0) +
                           "\" role=\"img\">\n<title>" + std::string(title) + "</title>\n";
        page += style();
        page += "<rect class=\"paper\" width=\"" + number(width, 0) + "\" height=\"" +
                number(height_, 0) + "\" rx=\"6\"/>\n";
        return page + drawn_ + "</svg>\n";
    }

private:
    static std::string number(double value, int digits = 1) {
        char text[32];
        std::snprintf(text, sizeof text, "%.*f", digits, value == 0 ? 0.0 : value);
        return text;
    }
    void put(const std::string& element) { drawn_ += element + "\n"; }

    static std::string_view style() {
        return R"(<style>
  text { font: 11px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #57606a; }
  .paper { fill: #ffffff; }
  .head { font-size: 17px; font-weight: 600; fill: #1f2328; }
  .title { font-size: 12px; font-weight: 600; fill: #1f2328; }
  .small { font-size: 10px; }
  .grid { stroke: #d8dee4; stroke-width: 1; }
  .faint { stroke: #eaeef2; stroke-width: 1; }
  .arrival { stroke: #57606a; stroke-width: 1.3; }
  .good { stroke: #1a7f37; stroke-width: 1.6; }
  .bad { stroke: #cf222e; stroke-width: 1.6; }
  .refused { stroke: #bf8700; stroke-width: 1.6; }
  .delay { stroke: #1a7f37; stroke-width: 0.8; opacity: 0.45; }
  .again { stroke: #8c96a0; stroke-width: 0.7; }
  .level { fill: none; stroke: #1491c4; stroke-width: 1.6; }
  .bound { stroke: #cf222e; stroke-width: 1; stroke-dasharray: 4 3; }
  .outage { fill: #cf222e; opacity: 0.07; }
  .closed { fill: #1a7f37; opacity: 0.75; }
  .open { fill: #cf222e; opacity: 0.75; }
  .half { fill: #bf8700; opacity: 0.9; }
  .bar { fill: #1491c4; }
  .dot-good { fill: #1a7f37; }
  .dot-bad { fill: #cf222e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #9aa4af; }
    .paper { fill: #0d1117; }
    .head, .title { fill: #e6edf3; }
    .grid { stroke: #30363d; }
    .faint { stroke: #21262d; }
    .arrival { stroke: #9aa4af; }
    .good, .delay { stroke: #3fb950; }
    .bad, .bound { stroke: #f85149; }
    .refused { stroke: #d29922; }
    .level { stroke: #2ea9dc; }
    .outage { fill: #f85149; opacity: 0.12; }
    .closed, .dot-good { fill: #3fb950; }
    .open, .dot-bad { fill: #f85149; }
    .half { fill: #d29922; }
    .bar { fill: #2ea9dc; }
  }
</style>
)";
    }

    double height_;
    std::string drawn_;
};

}  // namespace timelines
