// SPDX-License-Identifier: MIT
// A flush takes the buffer, so that text appended meanwhile belongs to the next one.

#include "crawl/output/output_file.hpp"

#include <weir/crawl/store.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/error.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

namespace weir::crawl::detail {

namespace {

// Where the stream stands, which others may share: `(head; weir crawl ...) >> file`. A file would
// be written from its beginning.
void write_to_stream(int fd, const std::string& text) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t count = ::write(fd, rest.data(), rest.size());
        if (count < 0 && errno != EINTR) {
            throw io_error(errno, "standard output: write");
        }
        rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
}

}  // namespace

task<> output_file::open(std::uint64_t length, bool is_new) {
    if (path_ == "-") {
        is_stream_ = true;
        file_ = io::file(::dup(STDOUT_FILENO), "standard output");
        co_return;
    }
    const io::open_options how{.read = false, .write = true, .create = true};
    file_ = co_await io::file::open(path_, how);
    struct stat what{};
    is_stream_ = ::fstat(file_.fd(), &what) == 0 && !S_ISREG(what.st_mode);
    if (is_stream_) {
        co_return;
    }
    const std::uint64_t size = co_await file_.size();
    if (size < length) {
        throw store_error("the output '" + path_ + "' has " + std::to_string(size) +
                          " bytes, and the crawl has written " + std::to_string(length) +
                          ": restore it, or start the crawl with another state and output");
    }
    if (is_new && size > 0) {
        throw store_error("the output '" + path_ +
                          "' exists and is not part of this crawl: remove it, or choose another");
    }
    co_await file_.truncate(length);
    length_ = length;
}

task<std::uint64_t> output_file::open(std::string position) {
    std::uint64_t length = 0;
    std::from_chars(position.data(), position.data() + position.size(), length);
    co_await open(length, position.empty());
    co_return length;
}

task<std::uint64_t> output_file::flush() {
    const std::string text = std::exchange(buffer_, std::string());
    if (!text.empty()) {
        try {
            if (path_ == "-") {
                co_await run_blocking(write_to_stream, file_.fd(), text);
            } else if (is_stream_) {
                co_await file_.write(text);
            } else {
                co_await file_.write_at(text, length_);
                co_await file_.sync_data();
            }
        } catch (const io_error& error) {
            if (error.code() != std::errc::no_space_on_device) {
                throw;
            }
            throw store_error(std::string(error.what()) +
                              "; free some space and start the crawl again: it continues");
        }
        length_ += text.size();
    }
    co_return length_;
}

}  // namespace weir::crawl::detail
