// SPDX-License-Identifier: MIT
// Members that say nothing are left out: no error, no redirects, no title.

#include "base/json_text.hpp"
#include "crawl/output/warc_record.hpp"

#include <weir/crawl/jsonl_sink.hpp>

#include <array>
#include <charconv>
#include <utility>

namespace weir::crawl {

namespace {

class json_line {
public:
    explicit json_line(std::string& to) : to_(to) { to_ += '{'; }
    void text(std::string_view name, std::string_view value) {
        if (!value.empty()) {
            key(name);
            base::append_json_string(to_, value);
        }
    }
    template <class Number>
    void number(std::string_view name, Number value) {
        key(name);
        base::append_number(to_, value);
    }
    void truth(std::string_view name, bool value) {
        if (value) {
            key(name);
            to_ += "true";
        }
    }
    void texts(std::string_view name, const std::vector<std::string>& values) {
        if (values.empty()) {
            return;
        }
        key(name);
        char before = '[';
        for (const std::string& each : values) {
            to_ += before;
            base::append_json_string(to_, each);
            before = ',';
        }
        to_ += ']';
    }
    void begin(std::string_view name) {
        key(name);
        to_ += '{';
        is_first_ = true;
    }
    void end() {
        to_ += '}';
        is_first_ = false;
    }

private:
    void key(std::string_view name) {
        if (!std::exchange(is_first_, false)) {
            to_ += ',';
        }
        to_.append("\"").append(name).append("\":");
    }

    std::string& to_;
    bool is_first_ = true;
};

std::string hex_of(std::uint64_t number) {
    std::array<char, 16> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + 16, number, 16);
    static_cast<void>(error);
    return std::string(digits.data(), end);
}

double milliseconds_of(std::chrono::microseconds time) {
    return static_cast<double>(time.count()) / 1000;
}

}  // namespace

void append_json_line(std::string& to, const page_record& page) {
    json_line line(to);
    line.number("id", page.id);
    line.text("url", page.url);
    line.text("state", name_of(page.state));
    line.number("status", page.status);
    if (page.error) {
        line.begin("error");
        line.text("kind", name_of(page.error.kind));
        line.text("stage", name_of(page.error.stage));
        line.text("text", page.error.text);
        line.end();
    }
    line.number("depth", page.depth);
    line.text("found_as", name_of(page.found_as));
    line.text("referrer", page.referrer);
    line.texts("redirects", page.redirects);
    line.text("location", page.location);
    line.number("attempts", page.attempts);
    if (page.state != page_state::pending) {
        line.text("fetched_at", detail::warc_date(page.fetched_at));
        line.begin("times");
        line.number("queued", milliseconds_of(page.times.queued));
        line.number("ttfb", milliseconds_of(page.times.ttfb));
        line.number("total", milliseconds_of(page.times.total));
        line.end();
    }
    line.number("bytes", page.bytes);
    line.number("wire_bytes", page.wire_bytes);
    line.text("content_type", page.content_type);
    line.text("charset", page.charset);
    line.text("title", page.title);
    line.text("canonical", page.canonical);
    line.truth("noindex", page.is_noindex);
    line.truth("nofollow", page.is_nofollow);
    if (page.body_hash != 0) {
        line.text("hash", hex_of(page.body_hash));
    }
    line.begin("links");
    line.number("out", page.links);
    line.number("new", page.new_links);
    line.number("cut", page.cut_links);
    line.end();
    line.text("data", page.data);
    line.end();
    to += '\n';
}

jsonl_sink::jsonl_sink(std::string path) : file_sink("jsonl", std::move(path)) {}

void jsonl_sink::write(const page& settled) {
    append_json_line(text(), settled);
}

}  // namespace weir::crawl
