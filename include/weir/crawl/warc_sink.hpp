// SPDX-License-Identifier: MIT
// A web archive of a crawl: WARC 1.1, a member of gzip for each record, so that the archive can be
// read from any record on and cut behind any.
//
// Each response is written with its request. A body that the archive has already becomes a revisit
// record, which refers to it; those of a run before a restart count as new. A file that reaches
// `rotate_at` is followed by the next one: 'site.warc.gz', 'site-00002.warc.gz', ...
#pragma once

#include <weir/crawl/sink.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::crawl {

struct warc_options {
    std::uint64_t rotate_at = std::uint64_t{1} << 30;
    std::size_t max_known_bodies = 1'000'000;  // further bodies are written in full
    std::string software = "weir-crawl";
};

class warc_sink final : public sink {
public:
    explicit warc_sink(std::string path, warc_options options = {});
    ~warc_sink() override;

    std::string_view name() const noexcept override { return name_; }
    bool wants_raw_body() const noexcept override { return true; }
    task<> open(std::string position) override;
    void write(const page& settled) override;
    std::size_t buffered() const noexcept override;
    task<std::string> flush() override;
    task<> close(bool is_complete) override;

private:
    struct parts;
    std::string name_;
    std::unique_ptr<parts> parts_;
};

}  // namespace weir::crawl
