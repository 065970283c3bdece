// SPDX-License-Identifier: MIT
// A file that a sink appends to, and that a resumed crawl cuts to the length that was committed.
#pragma once

#include <weir/io/file.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

class output_file {
public:
    // '-': standard output. That, pipes and devices are not cut.
    explicit output_file(std::string path) : path_(std::move(path)) {}

    const std::string& path() const noexcept { return path_; }
    // `length` is the committed one. A new file must not exist or be empty. Throws io_error, and
    // store_error if the file is shorter than committed, or new and not empty.
    task<> open(std::uint64_t length, bool is_new);
    // The same for a position that is a length in digits; see sink::open. Returns the length.
    task<std::uint64_t> open(std::string position);
    void append(std::string_view text) { buffer_.append(text); }
    std::string& buffer() noexcept { return buffer_; }
    std::size_t buffered() const noexcept { return buffer_.size(); }
    // Writes what was appended, and waits for the disk. The length then.
    task<std::uint64_t> flush();
    void close() noexcept { file_.close(); }

private:
    std::string path_;
    io::file file_;
    bool is_stream_ = false;  // a pipe, a terminal, a device
    std::uint64_t length_ = 0;
    std::string buffer_;
};

}  // namespace weir::crawl::detail
