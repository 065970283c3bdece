// SPDX-License-Identifier: MIT
// A copy of the pages of a crawl on disk, to be read without a network: 'folder/host/path'.
//
// Files get safe names, whatever their URLs look like. When the crawl is complete, the links of all
// pages are rewritten: to the files of the mirror where it has them, to absolute URLs otherwise. A
// crawl that was stopped leaves the pages as they came and goes on later. The mirror keeps its list
// of files in 'folder/.weir-mirror'.
#pragma once

#include <weir/crawl/sink.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace weir::crawl {

class mirror_sink final : public sink {
public:
    explicit mirror_sink(std::string folder);
    ~mirror_sink() override;

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
