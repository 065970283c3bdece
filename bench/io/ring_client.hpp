// SPDX-License-Identifier: MIT
//
// What the load generators share that keep many connections busy: on io_uring, and not as the
// servers' authors would write theirs. Receives stay armed for good, all sends of a batch go out in
// one call. A generator has to be cheaper than the cheapest server, or it would measure itself.
#pragma once

#include "connecting.hpp"

#include <liburing.h>

#include <cstring>
#include <memory>
#include <vector>

namespace load {

// Client::arrived(index, data, size) is called for what a connection has received.
template <class Client, std::size_t BufferSize>
class ring_client {
public:
    ring_client(const ring_client&) = delete;
    ring_client& operator=(const ring_client&) = delete;

    // How many have been counted in that time.
    std::uint64_t run_for(double ns) {
        const std::uint64_t before = messages_;
        const double end = bench::clock_ns(CLOCK_MONOTONIC) + ns;
        while (bench::clock_ns(CLOCK_MONOTONIC) < end)
            turn();
        return messages_ - before;
    }
    void run_until(std::uint64_t messages) {
        while (messages_ < messages)
            turn();
    }

protected:
    ring_client(std::uint16_t port, unsigned connections) {
        set_up_ring();
        set_up_buffers();
        for (unsigned i = 0; i < connections; ++i) {
            sockets_.push_back(connect_to(port));
            arm(i);
        }
    }
    ~ring_client() {
        io_uring_queue_exit(&ring_);
        for (const int each : sockets_)
            close(each);
        std::free(pool_);
    }

    void count_one() { ++messages_; }
    void send(unsigned index, const char* data, std::size_t size) {
        io_uring_sqe* sqe = next_sqe();
        io_uring_prep_send(sqe, sockets_[index], data, size, MSG_NOSIGNAL | MSG_WAITALL);
        sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
        sqe->user_data = index | is_send;
    }

private:
    static constexpr unsigned buffers = 1024;  // a power of two
    static constexpr std::uint64_t is_send = std::uint64_t{1} << 32;

    static void check(int result, const char* what) {
        if (result >= 0) return;
        throw std::runtime_error(std::string(what) + ": " + std::strerror(-result));
    }

    void set_up_ring() {
        io_uring_params parameters{};
        parameters.flags =
            IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
        parameters.cq_entries = 32768;
        check(io_uring_queue_init_params(1024, &ring_, &parameters), "io_uring_setup");
        io_uring_register_ring_fd(&ring_);
    }
    void set_up_buffers() {
        memory_ = std::make_unique<char[]>(buffers * BufferSize);
        void* pages = nullptr;
        bench::require(posix_memalign(&pages, 4096, buffers * sizeof(io_uring_buf)) == 0, "memory");
        pool_ = static_cast<io_uring_buf_ring*>(pages);
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(pool_);
        registration.ring_entries = buffers;
        check(io_uring_register_buf_ring(&ring_, &registration, 0), "io_uring_register_buf_ring");
        io_uring_buf_ring_init(pool_);
        for (unsigned i = 0; i < buffers; ++i)
            give_back(i, static_cast<int>(i));
        io_uring_buf_ring_advance(pool_, buffers);
    }
    void give_back(unsigned buffer, int place) {
        io_uring_buf_ring_add(pool_, &memory_[buffer * BufferSize], BufferSize,
                              static_cast<unsigned short>(buffer), buffers - 1, place);
    }

    io_uring_sqe* next_sqe() {
        io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
        while (sqe == nullptr) {
            io_uring_submit(&ring_);
            sqe = io_uring_get_sqe(&ring_);
        }
        return sqe;
    }
    void arm(unsigned index) {
        io_uring_sqe* sqe = next_sqe();
        io_uring_prep_recv_multishot(sqe, sockets_[index], nullptr, 0, 0);
        sqe->flags |= IOSQE_BUFFER_SELECT;
        sqe->buf_group = 0;
        sqe->user_data = index;
    }

    void turn() {
        io_uring_submit_and_wait(&ring_, 1);
        unsigned head = 0;
        unsigned count = 0;
        int returned = 0;
        io_uring_cqe* cqe = nullptr;
        io_uring_for_each_cqe(&ring_, head, cqe) {
            ++count;
            if ((cqe->user_data & is_send) != 0) {
                check(cqe->res, "send");
                continue;
            }
            const auto index = static_cast<unsigned>(cqe->user_data);
            if ((cqe->flags & IORING_CQE_F_MORE) == 0) arm(index);
            if (cqe->res == -ENOBUFS) continue;
            check(cqe->res, "recv");
            if (cqe->res == 0) throw std::runtime_error("the server closed a connection");
            const unsigned buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
            static_cast<Client*>(this)->arrived(index, &memory_[buffer * BufferSize],
                                                static_cast<std::size_t>(cqe->res));
            give_back(buffer, returned++);
        }
        io_uring_buf_ring_advance(pool_, returned);
        io_uring_cq_advance(&ring_, count);
    }

    std::vector<int> sockets_;
    io_uring ring_{};
    io_uring_buf_ring* pool_ = nullptr;
    std::unique_ptr<char[]> memory_;
    std::uint64_t messages_ = 0;
};

}  // namespace load
