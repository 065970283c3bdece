// SPDX-License-Identifier: MIT
// A position is the number of the file, its entries and its length. The end of a file is written
// when the next one begins or the sink is closed, and cut when the sink is opened again. Entries
// wait in memory until flush(), which can begin another file between them.

#include "crawl/output/markup_text.hpp"
#include "crawl/output/output_file.hpp"
#include "crawl/output/warc_record.hpp"

#include <weir/crawl/sitemap_sink.hpp>
#include <weir/http/date.hpp>
#include <weir/http/url.hpp>
#include <weir/io/file_system.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::crawl {
namespace {

constexpr std::string_view urlset_begin =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
constexpr std::string_view urlset_end = "</urlset>\n";

std::string sitemap_path(const std::string& path, std::string_view suffix) {
    const std::string_view ending = path.ends_with(".xml") ? ".xml" : "";
    return path.substr(0, path.size() - ending.size()) + std::string(suffix) + std::string(ending);
}

bool belongs_in_sitemap(const page& settled) noexcept {
    return settled.status == 200 && settled.state == page_state::done && !settled.is_noindex &&
           (settled.content_type == "text/html" ||
            settled.content_type == "application/xhtml+xml") &&
           (settled.canonical.empty() || settled.canonical == settled.url);
}

}  // namespace

struct sitemap_sink::parts {
    parts(std::string given, sitemap_sink_options chosen)
        : path(std::move(given)), options(chosen) {}

    std::string path_of(unsigned number_of_file) const {
        return number_of_file == 1 ? path
                                   : sitemap_path(path, "-" + std::to_string(number_of_file));
    }
    task<> start_file(std::uint64_t length, bool is_new) {
        file.emplace(path_of(number));
        co_await file->open(length, is_new);
        if (length == 0) {
            file->append(urlset_begin);
        }
    }
    task<> end_file() {
        file->append(urlset_end);
        co_await file->flush();
        file->close();
    }
    task<> write_index() const {
        std::string text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
        for (unsigned each = 1; each <= number; ++each) {
            const std::string listed = path_of(each);
            text += "<sitemap><loc>" + origin + "/" + listed.substr(listed.find_last_of('/') + 1) +
                    "</loc></sitemap>\n";
        }
        text += "</sitemapindex>\n";
        const io::write_file_options how{.atomically = true};
        co_await io::write_file(sitemap_path(path, "-index"), std::as_bytes(std::span(text)), how);
    }

    std::string path;
    sitemap_sink_options options;
    std::optional<detail::output_file> file;
    std::vector<std::string> waiting;
    std::size_t bytes = 0;
    unsigned number = 1;
    std::size_t entries = 0;
    std::string origin;  // of the first page, where the sitemaps are expected to be
};

sitemap_sink::sitemap_sink(std::string path, sitemap_sink_options options)
    : name_("sitemap:" + path), parts_(std::make_unique<parts>(std::move(path), options)) {}
sitemap_sink::~sitemap_sink() = default;

task<> sitemap_sink::open(std::string position) {
    parts& all = *parts_;
    std::uint64_t length = 0;
    const char* const end = position.data() + position.size();
    std::from_chars_result read{end, std::errc()};
    if (position != nothing_written) {
        read = std::from_chars(position.data(), end, all.number);
    }
    if (read.ptr != end) {
        read = std::from_chars(read.ptr + 1, end, all.entries);
    }
    if (read.ptr != end) {
        read = std::from_chars(read.ptr + 1, end, length);
    }
    if (read.ptr != end) {
        all.origin.assign(read.ptr + 1, end);
    }
    co_await all.start_file(length, position.empty());
    for (unsigned later = all.number + 1; !position.empty(); ++later) {
        const std::string path = all.path_of(later);
        const bool is_there = co_await io::exists(path);
        if (!is_there) {
            break;
        }
        co_await io::remove(path);
    }
}

void sitemap_sink::write(const page& settled) {
    if (!belongs_in_sitemap(settled)) {
        return;
    }
    std::string entry = "<url><loc>";
    detail::append_markup_text(entry, settled.url);
    entry += "</loc>";
    if (const std::string_view modified = settled.headers.get("Last-Modified"); !modified.empty()) {
        if (const auto when = http::parse_date(modified)) {
            entry += "<lastmod>" +
                     detail::warc_date(std::chrono::floor<std::chrono::microseconds>(*when)) +
                     "</lastmod>";
        }
    }
    entry += "</url>\n";
    parts& all = *parts_;
    if (all.origin.empty()) {
        const auto url = http::url::try_parse(settled.url);
        all.origin = url ? url->origin() : std::string();
    }
    all.bytes += entry.size();
    all.waiting.push_back(std::move(entry));
}

std::size_t sitemap_sink::buffered() const noexcept {
    return parts_->bytes;
}

task<std::string> sitemap_sink::flush() {
    parts& all = *parts_;
    const std::vector<std::string> entries = std::exchange(all.waiting, {});
    all.bytes = 0;
    for (const std::string& each : entries) {
        if (all.entries >= all.options.entries_per_file) {
            co_await all.end_file();
            ++all.number;
            all.entries = 0;
            co_await all.start_file(0, true);
        }
        all.file->append(each);
        ++all.entries;
    }
    const std::uint64_t length = co_await all.file->flush();
    co_return std::to_string(all.number) + ":" + std::to_string(all.entries) + ":" +
        std::to_string(length) + ":" + all.origin;
}

task<> sitemap_sink::close(bool is_complete) {
    co_await parts_->end_file();
    if (is_complete && parts_->number > 1) {
        co_await parts_->write_index();
    }
}

}  // namespace weir::crawl
