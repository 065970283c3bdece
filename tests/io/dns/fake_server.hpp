// SPDX-License-Identifier: MIT
// A name server on loopback, UDP and TCP, that answers with the test's handler.
#pragma once

#include <weir/fd.hpp>
#include <weir/io/address.hpp>
#include <weir/testing/testing.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir_test {

constexpr int type_a = 1;
constexpr int type_cname = 5;
constexpr int type_aaaa = 28;

struct dns_question {
    std::string id;       // two bytes
    std::string section;  // as it came
    std::string name;
    int type = 0;
    bool over_tcp = false;
};

inline std::string u16(unsigned value) {
    return {static_cast<char>(value >> 8), static_cast<char>(value & 255)};
}
inline std::string u32(unsigned value) {
    return u16(value >> 16) + u16(value & 0xffff);
}

inline std::string wire_name(const std::string& name) {
    std::string encoded;
    std::size_t begin = 0;
    while (begin < name.size()) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        encoded += static_cast<char>(end - begin);
        encoded += name.substr(begin, end - begin);
        begin = end + 1;
    }
    return encoded + '\0';
}

// An answer under construction.
class dns_reply {
public:
    explicit dns_reply(const dns_question& to, unsigned code = 0, unsigned flags = 0x8180)
        : question_(to), flags_(flags | code) {}
    dns_reply& record(const std::string& name, int type, unsigned ttl, const std::string& data) {
        records_ += wire_name(name) + u16(static_cast<unsigned>(type)) + u16(1) + u32(ttl) +
                    u16(static_cast<unsigned>(data.size())) + data;
        ++count_;
        return *this;
    }
    // The address may be of either family.
    dns_reply& address(const std::string& name, const std::string& text, unsigned ttl = 60) {
        const weir::io::address where = weir::io::address::parse(text, 0);
        if (where.kind() == weir::io::address::family::ipv4) {
            sockaddr_in raw{};
            std::memcpy(&raw, where.data(), sizeof raw);
            return record(name, type_a, ttl,
                          {reinterpret_cast<const char*>(&raw.sin_addr), sizeof raw.sin_addr});
        }
        sockaddr_in6 raw{};
        std::memcpy(&raw, where.data(), sizeof raw);
        return record(name, type_aaaa, ttl,
                      {reinterpret_cast<const char*>(&raw.sin6_addr), sizeof raw.sin6_addr});
    }
    dns_reply& alias(const std::string& name, const std::string& target, unsigned ttl = 60) {
        return record(name, type_cname, ttl, wire_name(target));
    }
    std::string text() const {
        return question_.id + u16(flags_) + u16(1) + u16(count_) + u16(0) + u16(0) +
               question_.section + records_;
    }

private:
    dns_question question_;
    unsigned flags_;
    unsigned count_ = 0;
    std::string records_;
};

struct packet {
    std::string data;
    weir::clock::duration delay{};
    bool is_held = false;  // until release()
};
using dns_handler = std::function<std::vector<packet>(const dns_question&)>;

class fake_server {
public:
    explicit fake_server(dns_handler handler) : handler_(std::move(handler)) {
        for (int attempt = 0; attempt < 100 && tcp_ < 0; ++attempt) {
            open();
        }
    }
    fake_server(const fake_server&) = delete;
    fake_server& operator=(const fake_server&) = delete;
    ~fake_server() {
        ::close(udp_);
        ::close(tcp_);
    }

    weir::io::address address() const { return address_; }
    int queries(const std::string& name, int type) const {
        const auto found = queries_.find({name, type});
        return found == queries_.end() ? 0 : found->second;
    }
    int queries() const { return total_; }
    int over_tcp() const { return over_tcp_; }
    void release() {
        for (const auto& [data, peer] : std::exchange(held_, {})) {
            send(data, peer);
        }
    }

    weir::task<> serve_udp() {
        std::string buffer(2048, '\0');
        for (;;) {
            co_await weir::wait_readable(udp_);
            sockaddr_storage from{};
            socklen_t size = sizeof from;
            const ssize_t got = ::recvfrom(udp_, buffer.data(), buffer.size(), 0,
                                           reinterpret_cast<sockaddr*>(&from), &size);
            if (got < 0) {
                continue;
            }
            const weir::io::address peer =
                weir::io::address::from(reinterpret_cast<const sockaddr*>(&from), size);
            for (const packet& each :
                 answer(buffer.substr(0, static_cast<std::size_t>(got)), false)) {
                if (each.is_held) {
                    held_.emplace_back(each.data, peer);
                } else if (each.delay > weir::clock::duration::zero()) {
                    group_->spawn(&fake_server::send_later, this, each, peer);
                } else {
                    send(each.data, peer);
                }
            }
        }
    }

    weir::task<> serve_tcp() {
        for (;;) {
            co_await weir::wait_readable(tcp_);
            const int fd = ::accept4(tcp_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd >= 0) {
                group_->spawn(&fake_server::serve_connection, this, fd);
            }
        }
    }

    const weir::task_group* group_ = nullptr;

private:
    void open() {
        udp_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        weir::io::address where = weir::io::address::loopback(0);
        ::bind(udp_, where.data(), static_cast<socklen_t>(where.size()));
        sockaddr_storage raw{};
        socklen_t size = sizeof raw;
        ::getsockname(udp_, reinterpret_cast<sockaddr*>(&raw), &size);
        address_ = weir::io::address::from(reinterpret_cast<const sockaddr*>(&raw), size);
        tcp_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (::bind(tcp_, address_.data(), static_cast<socklen_t>(address_.size())) != 0 ||
            ::listen(tcp_, 16) != 0) {  // another process has the port
            ::close(std::exchange(tcp_, -1));
            ::close(udp_);
        }
    }

    std::vector<packet> answer(const std::string& message, bool tcp) {
        dns_question question;
        question.id = message.substr(0, 2);
        std::size_t at = 12;
        while (at < message.size() && message[at] != 0) {
            const auto length = static_cast<std::size_t>(message[at]);
            question.name.append(question.name.empty() ? "" : ".").append(message, at + 1, length);
            at += length + 1;
        }
        question.section = message.substr(12, at + 5 - 12);
        question.type = static_cast<unsigned char>(message[at + 2]);
        question.over_tcp = tcp;
        ++queries_[{question.name, question.type}];
        ++total_;
        over_tcp_ += tcp ? 1 : 0;
        return handler_(question);
    }

    void send(const std::string& data, const weir::io::address& to) const {
        ::sendto(udp_, data.data(), data.size(), MSG_NOSIGNAL, to.data(),
                 static_cast<socklen_t>(to.size()));
    }
    weir::task<> send_later(packet what, weir::io::address to) {
        co_await weir::sleep(what.delay);
        send(what.data, to);
    }

    weir::task<> serve_connection(int raw) {
        const auto closing = [](const int* fd) { ::close(*fd); };
        const std::unique_ptr<const int, decltype(closing)> fd(&raw, closing);
        std::string have;
        std::string buffer(4096, '\0');
        for (;;) {
            co_await weir::wait_readable(raw);
            const ssize_t got = ::read(raw, buffer.data(), buffer.size());
            if (got <= 0) {
                co_return;
            }
            have += buffer.substr(0, static_cast<std::size_t>(got));
            while (have.size() >= 2) {
                const std::size_t length = static_cast<unsigned char>(have[0]) * 256u +
                                           static_cast<unsigned char>(have[1]);
                if (have.size() < length + 2) {
                    break;
                }
                for (const packet& each : answer(have.substr(2, length), true)) {
                    const std::string framed =
                        u16(static_cast<unsigned>(each.data.size())) + each.data;
                    [[maybe_unused]] const auto sent =
                        ::send(raw, framed.data(), framed.size(), MSG_NOSIGNAL);
                }
                have.erase(0, length + 2);
            }
        }
    }

    dns_handler handler_;
    int udp_ = -1;
    int tcp_ = -1;
    weir::io::address address_;
    std::map<std::pair<std::string, int>, int> queries_;
    int total_ = 0;
    int over_tcp_ = 0;
    std::vector<std::pair<std::string, weir::io::address>> held_;
};

// Runs the body beside the server.
template <class Body>
weir::task<> with_server(dns_handler handler, Body& body) {
    fake_server server(std::move(handler));
    auto both = [&](weir::task_group& group) -> weir::task<> {
        server.group_ = &group;
        group.spawn(server.serve_udp());
        group.spawn(server.serve_tcp());
        co_await body(server);
        group.cancel();
    };
    co_await weir::with_group(both);
}

// Addresses for all names: 10.0.0.1 and fd00::1.
inline std::vector<packet> answer_all(const dns_question& question) {
    dns_reply reply(question);
    if (question.type == type_a) {
        reply.address(question.name, "10.0.0.1");
    } else if (question.type == type_aaaa) {
        reply.address(question.name, "fd00::1");
    }
    return {{reply.text()}};
}

}  // namespace weir_test
