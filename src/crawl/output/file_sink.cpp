// SPDX-License-Identifier: MIT
// The last text is not part of any position: the next run cuts it off.

#include "crawl/output/output_file.hpp"

#include <weir/crawl/file_sink.hpp>

#include <cstdint>
#include <utility>

namespace weir::crawl {

file_sink::file_sink(std::string_view format, std::string path, std::string_view first,
                     std::string_view last)
    : name_(std::string(format) + ":" + path),
      file_(std::make_unique<detail::output_file>(std::move(path))),
      first_(first),
      last_(last) {}

file_sink::~file_sink() = default;

std::string& file_sink::text() noexcept {
    return file_->buffer();
}

task<> file_sink::open(std::string position) {
    const std::uint64_t length = co_await file_->open(std::move(position));
    if (length == 0) {
        file_->append(first_);
    }
}

std::size_t file_sink::buffered() const noexcept {
    return file_->buffered();
}

task<std::string> file_sink::flush() {
    const std::uint64_t length = co_await file_->flush();
    co_return std::to_string(length);
}

task<> file_sink::close(bool) {
    file_->append(last_);
    co_await file_->flush();
    file_->close();
}

}  // namespace weir::crawl
