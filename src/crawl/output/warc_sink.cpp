// SPDX-License-Identifier: MIT
// write() makes records; flush() compresses them on another thread and appends them. A position is
// the number of the file and its length. Files after the one of the position come from a run that
// did not get to commit, and are removed.

#include "crawl/output/output_file.hpp"
#include "crawl/output/warc_record.hpp"

#include <weir/crawl/warc_sink.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/file_system.hpp>

#include <charconv>
#include <chrono>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::crawl {
namespace {

struct archived_body {
    std::string url;
    std::string date;
};

std::string numbered_path(const std::string& path, unsigned number) {
    if (number == 1) {
        return path;
    }
    const std::string_view ending = path.ends_with(".warc.gz") ? ".warc.gz" : "";
    std::string digits = std::to_string(number);
    digits.insert(0, digits.size() < 5 ? 5 - digits.size() : 0, '0');
    return path.substr(0, path.size() - ending.size()) + "-" + digits + std::string(ending);
}

std::string compressed_records(const std::vector<std::string>& records) {
    std::string packed;
    for (const std::string& each : records) {
        packed += detail::gzip_member(each);
    }
    return packed;
}

}  // namespace

struct warc_sink::parts {
    parts(std::string given, warc_options chosen)
        : path(std::move(given)), options(std::move(chosen)) {}

    void add(std::string record) {
        bytes += record.size();
        records.push_back(std::move(record));
    }
    void add_info() {
        const std::string file = numbered_path(path, number);
        add(detail::warc_record(
            "warcinfo",
            {{"WARC-Record-ID", detail::new_warc_id()},
             {"WARC-Date", detail::warc_date(std::chrono::floor<std::chrono::microseconds>(
                               std::chrono::system_clock::now()))},
             {"WARC-Filename", file.substr(file.find_last_of('/') + 1)},
             {"Content-Type", "application/warc-fields"}},
            "software: " + options.software +
                "\r\nformat: WARC File Format 1.1\r\nconformsTo: "
                "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
                "\r\n"));
    }
    task<> start_file(std::uint64_t length, bool is_new) {
        file.emplace(numbered_path(path, number));
        co_await file->open(length, is_new);
    }

    std::string path;
    warc_options options;
    std::optional<detail::output_file> file;
    unsigned number = 1;
    std::uint64_t length = 0;
    std::vector<std::string> records;
    std::size_t bytes = 0;
    std::unordered_map<std::string, archived_body> known;
};

warc_sink::warc_sink(std::string path, warc_options options)
    : name_("warc:" + path), parts_(std::make_unique<parts>(std::move(path), std::move(options))) {}
warc_sink::~warc_sink() = default;

task<> warc_sink::open(std::string position) {
    parts& all = *parts_;
    if (const std::size_t colon = position.find(':'); colon != std::string::npos) {
        std::from_chars(position.data(), position.data() + colon, all.number);
        std::from_chars(position.data() + colon + 1, position.data() + position.size(), all.length);
    }
    co_await all.start_file(all.length, position.empty());
    for (unsigned later = all.number + 1;; ++later) {
        const std::string path = numbered_path(all.path, later);
        const bool is_there = co_await io::exists(path);
        if (!is_there || position.empty()) {
            break;
        }
        co_await io::remove(path);
    }
    if (all.length == 0) {
        all.add_info();
    }
}

void warc_sink::write(const page& settled) {
    if (settled.status == 0) {
        return;  // no response: nothing to archive
    }
    parts& all = *parts_;
    const std::string date = detail::warc_date(settled.fetched_at);
    const std::string id = detail::new_warc_id();
    const std::string_view payload = detail::warc_payload(settled);
    const std::string digest = detail::warc_digest(payload);
    const std::string head = detail::warc_response_head(settled);
    const bool may_be_known = !payload.empty() && settled.truncated.empty();
    const auto earlier = may_be_known ? all.known.find(digest) : all.known.end();
    const bool is_revisit = earlier != all.known.end();
    detail::warc_fields fields = {{"WARC-Record-ID", id},
                                  {"WARC-Date", date},
                                  {"WARC-Target-URI", settled.url},
                                  {"Content-Type", "application/http; msgtype=response"},
                                  {"WARC-Payload-Digest", digest}};
    if (!settled.truncated.empty()) {
        fields.emplace_back("WARC-Truncated", std::string(settled.truncated));
    }
    if (is_revisit) {
        fields.emplace_back("WARC-Profile",
                            "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest");
        fields.emplace_back("WARC-Refers-To-Target-URI", earlier->second.url);
        fields.emplace_back("WARC-Refers-To-Date", earlier->second.date);
        all.add(detail::warc_record("revisit", fields, head));
    } else {
        all.add(detail::warc_record("response", fields, head + std::string(payload)));
        if (may_be_known && all.known.size() < all.options.max_known_bodies) {
            all.known.emplace(digest, archived_body{settled.url, date});
        }
    }
    all.add(detail::warc_record("request",
                                {{"WARC-Record-ID", detail::new_warc_id()},
                                 {"WARC-Date", date},
                                 {"WARC-Target-URI", settled.url},
                                 {"WARC-Concurrent-To", id},
                                 {"Content-Type", "application/http; msgtype=request"}},
                                detail::warc_request_block(settled)));
}

std::size_t warc_sink::buffered() const noexcept {
    return parts_->bytes;
}

task<std::string> warc_sink::flush() {
    parts& all = *parts_;
    std::vector<std::string> records = std::exchange(all.records, {});
    all.bytes = 0;
    if (!records.empty()) {
        const std::string packed = co_await run_blocking(compressed_records, std::move(records));
        all.file->append(packed);
        all.length = co_await all.file->flush();
    }
    const std::string position = std::to_string(all.number) + ":" + std::to_string(all.length);
    if (all.length >= all.options.rotate_at) {
        // The next file is not part of this position: after a crash it is removed or reused.
        all.file->close();
        ++all.number;
        all.length = 0;
        co_await all.start_file(0, true);
        std::vector<std::string> later = std::exchange(all.records, {});
        all.add_info();
        for (std::string& each : later) {
            all.add(std::move(each));
        }
    }
    co_return position;
}

task<> warc_sink::close(bool) {
    if (!parts_->records.empty()) {
        co_await flush();
    }
    parts_->file->close();
}

}  // namespace weir::crawl
