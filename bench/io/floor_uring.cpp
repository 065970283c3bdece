// SPDX-License-Identifier: MIT
//
// The same on io_uring: one thread issues and reaps, completions are worked off when it waits, and
// one system call submits what a batch of completions led to.
#include "bare.hpp"

#include <liburing.h>

#include <unistd.h>

namespace {

struct connection {
    int socket;
    bool sending = false;
    std::uint64_t received = 0;
    unsigned sent = 0;
    unsigned size = 0;
    // The buffer is behind it, in the same allocation.
    char* buffer() noexcept { return reinterpret_cast<char*>(this + 1); }
};

io_uring ring;
bool streaming = false;
std::size_t buffer_size = bare::echo_buffer;

io_uring_sqe& next_sqe() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring);
    while (sqe == nullptr) {
        io_uring_submit(&ring);
        sqe = io_uring_get_sqe(&ring);
    }
    return *sqe;
}

void start_accept(int listener) {
    io_uring_sqe& sqe = next_sqe();
    io_uring_prep_multishot_accept(&sqe, listener, nullptr, nullptr, SOCK_CLOEXEC);
    io_uring_sqe_set_data(&sqe, nullptr);
}

// Not IORING_RECVSEND_POLL_FIRST: when a batch of sends has gone out, the first answers have
// arrived before the receives are submitted, and trying first is 4 % faster with 100 connections.
void start_receive(connection* c) {
    io_uring_sqe& sqe = next_sqe();
    io_uring_prep_recv(&sqe, c->socket, c->buffer(), buffer_size, 0);
    io_uring_sqe_set_data(&sqe, c);
    c->sending = false;
}

void start_send(connection* c) {
    io_uring_sqe& sqe = next_sqe();
    io_uring_prep_send(&sqe, c->socket, c->buffer() + c->sent, c->size - c->sent, MSG_NOSIGNAL);
    io_uring_sqe_set_data(&sqe, c);
    c->sending = true;
}

void accepted(int socket) {
    bare::no_delay(socket);
    auto* c = static_cast<connection*>(std::malloc(sizeof(connection) + buffer_size));
    *c = connection{.socket = socket};
    start_receive(c);
}

void close_connection(connection* c) {
    close(c->socket);
    std::free(c);
}

void received(connection* c, int result) {
    if (result < 0 || (result == 0 && !streaming)) return close_connection(c);
    c->received += static_cast<unsigned>(result);
    if (streaming && result > 0) return start_receive(c);
    c->sent = 0;
    c->size = static_cast<unsigned>(result);
    if (streaming)
        c->size = static_cast<unsigned>(std::snprintf(
            c->buffer(), buffer_size, "%llu\n", static_cast<unsigned long long>(c->received)));
    start_send(c);
}

void sent(connection* c, int result) {
    if (result < 0) return close_connection(c);
    c->sent += static_cast<unsigned>(result);
    if (c->sent < c->size) return start_send(c);
    if (streaming) return close_connection(c);
    start_receive(c);
}

}  // namespace

int main(int argc, char** argv) {
    streaming = bare::is_stream_server(argc, argv);
    buffer_size = streaming ? bare::stream_buffer : bare::echo_buffer;
    const int listener = bare::listen_and_tell(0);
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                       IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE;
    parameters.cq_entries = 4096;
    if (const int error = io_uring_queue_init_params(512, &ring, &parameters); error < 0) {
        errno = -error;
        bare::fail("io_uring_setup");
    }
    io_uring_register_ring_fd(&ring);
    start_accept(listener);
    for (;;) {
        io_uring_submit_and_wait(&ring, 1);
        unsigned head = 0;
        unsigned count = 0;
        io_uring_cqe* cqe = nullptr;
        io_uring_for_each_cqe(&ring, head, cqe) {
            ++count;
            auto* c = static_cast<connection*>(io_uring_cqe_get_data(cqe));
            if (c == nullptr) {
                if (cqe->res >= 0) accepted(cqe->res);
                if ((cqe->flags & IORING_CQE_F_MORE) == 0) start_accept(listener);
            } else if (c->sending) {
                sent(c, cqe->res);
            } else {
                received(c, cqe->res);
            }
        }
        io_uring_cq_advance(&ring, count);
    }
}
