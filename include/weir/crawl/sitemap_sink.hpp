// SPDX-License-Identifier: MIT
// A sitemap of the pages that a crawl found: those with status 200 in HTML that may be indexed and
// name no other URL as their canonical one. After 50,000 pages another file begins, 'sitemap.xml',
// 'sitemap-2.xml', ..., and at the end 'sitemap-index.xml' lists them.
#pragma once

#include <weir/crawl/sink.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace weir::crawl {

struct sitemap_sink_options {
    std::size_t entries_per_file = 50'000;
};

class sitemap_sink final : public sink {
public:
    explicit sitemap_sink(std::string path, sitemap_sink_options options = {});
    ~sitemap_sink() override;

    std::string_view name() const noexcept override { return name_; }
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
