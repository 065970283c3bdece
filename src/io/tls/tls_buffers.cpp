// SPDX-License-Identifier: MIT
// A BIO of our own whose two ends are vectors: a read takes the bytes that received() has added, or
// reports 'try again'; a write appends to the output and is never refused.

#include "io/tls/tls_openssl.hpp"

#include <weir/io/detail/tls_buffers.hpp>

#include <algorithm>
#include <cstring>

namespace weir::tls::detail {

namespace {

constexpr std::size_t first_room = 2048;                         // held by an idle connection
constexpr std::size_t most_room = 4 * SSL3_RT_MAX_PLAIN_LENGTH;  // grows as reads fill it

}  // namespace

struct buffer_bio {
    static int read(BIO* bio, char* into, std::size_t size, std::size_t* count) {
        tls_buffers& self = *static_cast<tls_buffers*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        *count = std::min(size, self.input_end_ - self.input_begin_);
        if (*count == 0) {
            BIO_set_retry_read(bio);
            return -1;
        }
        std::memcpy(into, self.input_.data() + self.input_begin_, *count);
        self.input_begin_ += *count;
        return 1;
    }

    static int write(BIO* bio, const char* data, std::size_t size, std::size_t* count) {
        tls_buffers& self = *static_cast<tls_buffers*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        const auto* first = reinterpret_cast<const std::byte*>(data);
        try {
            self.output_.insert(self.output_.end(), first, first + size);
        } catch (...) {
            self.failure_ = std::current_exception();
            return 0;
        }
        *count = size;
        return 1;
    }

    static long control(BIO*, int command, long, void*) {
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    }

    static BIO_METHOD* method() {
        static BIO_METHOD* const made = [] {
            BIO_METHOD* fresh =
                check_made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir"));
            BIO_meth_set_read_ex(fresh, &buffer_bio::read);
            BIO_meth_set_write_ex(fresh, &buffer_bio::write);
            BIO_meth_set_ctrl(fresh, &buffer_bio::control);
            return fresh;
        }();
        return made;
    }
};

void tls_buffers::attach_to(ssl_st& ssl) {
    BIO* const transport = check_made(BIO_new(buffer_bio::method()));
    BIO_set_data(transport, this);
    BIO_set_init(transport, 1);
    SSL_set_bio(&ssl, transport, transport);
}

io::bytes tls_buffers::input_room() {
    if (input_begin_ == input_end_) {
        if (input_.empty()) {
            input_.resize(first_room);
        } else if (input_end_ == input_.size() && input_.size() < most_room) {
            const std::size_t more = input_.size() * 2;
            input_ = {};
            input_.resize(more);
        }
        input_begin_ = input_end_ = 0;
    } else if (input_begin_ > 0) {
        std::memmove(input_.data(), input_.data() + input_begin_, input_end_ - input_begin_);
        input_end_ -= input_begin_;
        input_begin_ = 0;
    }
    if (input_end_ == input_.size()) {
        input_.resize(input_.size() * 2);
    }
    return io::bytes(input_).after(input_end_);
}

io::const_bytes tls_buffers::received(std::size_t count) noexcept {
    has_all_input_ |= count == 0;
    const io::const_bytes fresh = io::const_bytes(input_).after(input_end_).first(count);
    input_end_ += count;
    return fresh;
}

}  // namespace weir::tls::detail
