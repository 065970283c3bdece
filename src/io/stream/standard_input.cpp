// SPDX-License-Identifier: MIT
// The descriptor must not be made non-blocking, so each read asks first whether it would block.

#include <weir/io/buffered_reader.hpp>
#include <weir/io/error.hpp>
#include <weir/io/standard_input.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace weir::io {

namespace {

class polled_read final : public detail::pipe_read_operation {
public:
    using pipe_read_operation::pipe_read_operation;
    std::size_t resume() const { return thrown(); }

private:
    int attempt() noexcept override {
        pollfd state{target()->fd(), POLLIN, 0};
        const int count = ::poll(&state, 1, 0);
        if (count <= 0) {
            return count == 0 ? -EAGAIN : -errno;
        }
        return pipe_read_operation::attempt();
    }
    std::string attempted() const override { return "read from input"; }
};

}  // namespace

input_stream::input_stream(int fd) {
    struct stat about{};
    if (::fstat(fd, &about) != 0) {
        throw io_error(errno, "take over file descriptor " + std::to_string(fd));
    }
    if (S_ISREG(about.st_mode)) {
        file_ = file(fd, "input");
        const off_t position = ::lseek(fd, 0, SEEK_CUR);  // another program may have read before
        file_.seek(position > 0 ? static_cast<std::uint64_t>(position) : 0);
    } else {
        own_.reset(new detail::descriptor(fd, true));  // as if it were: it is never read blindly
    }
}

task<std::size_t> input_stream::read(bytes into) {
    if (file_.is_open()) {
        return file_.read(into);
    }
    return weir::detail::to_task(polled_read(own_.get(), into));
}

void input_stream::close() noexcept {
    own_.reset();
    file_.close();
}

bool input_stream::is_terminal() const noexcept {
    return fd() >= 0 && ::isatty(fd()) == 1;
}

input_stream standard_input() {
    const int copy = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) {
        throw io_error(errno, "standard input");
    }
    return input_stream(copy);
}

generator<std::string> lines(input_stream from, std::size_t limit) {
    buffered_reader reader(std::move(from));
    for (;;) {
        const auto line = co_await reader.read_line(limit, unterminated_line::accept);
        if (!line.has_value()) {
            co_return;
        }
        co_yield std::string(*line);
    }
}

}  // namespace weir::io
