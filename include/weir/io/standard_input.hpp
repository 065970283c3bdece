// SPDX-License-Identifier: MIT
// Standard input on the loop, whatever it is: a terminal, a pipe, a file, a socket.
//
//     auto lines = weir::io::lines(weir::io::standard_input());
//     while (auto line = co_await lines.next()) {     // other tasks run while nobody types
//         handle(*line);
//     }
//
// A read waits for input without a thread, and can be stopped at any time, having taken nothing. A
// regular file, which can always be read and never be waited for, is read by io_uring or by a
// thread, as io::file does. The descriptor stays as it is: a terminal is shared with the shell and
// with standard output, and would be non-blocking for those too. So an input that is shared with
// another process should have one reader: if that process takes what has arrived, a read waits for
// more without letting the loop go on.
#pragma once

#include <weir/generator.hpp>
#include <weir/io/file.hpp>
#include <weir/io/pipe.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <string>

namespace weir::io {

class input_stream {
public:
    input_stream() noexcept = default;  // closed
    // Takes ownership of a descriptor of any kind, and leaves its flags alone. Throws io_error if
    // it is invalid.
    explicit input_stream(int fd);

    // Waits for at least one byte; 0 at the end. At a terminal that is the end of what was typed
    // (Ctrl-D); more may follow. One task at a time.
    task<std::size_t> read(bytes into);
    void close() noexcept;
    bool is_open() const noexcept { return own_ != nullptr || file_.is_open(); }
    int fd() const noexcept { return own_ != nullptr ? own_->fd() : file_.fd(); }
    bool is_terminal() const noexcept;

private:
    detail::owned_descriptor own_;
    file file_;  // in its place for regular files
};

static_assert(byte_source<input_stream>);

// A stream of descriptor 0, which stays open when the stream is closed.
input_stream standard_input();

// The lines of an input, without their ends; the last one may lack its end. Throws limit_exceeded
// for a line that is longer than the limit. Reads ahead: use nothing else on the same input.
generator<std::string> lines(input_stream from, std::size_t limit = 1 << 20);

}  // namespace weir::io
