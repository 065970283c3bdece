// SPDX-License-Identifier: MIT
// Listeners on loopback.

#include "support/io.hpp"

#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/udp.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::io::address;

WEIR_IO_TEST(Listener, OptionsAreSet) {
    const auto option = [](const weir::io::listener& of, int name) {
        int value = -1;
        socklen_t size = sizeof value;
        EXPECT_EQ(::getsockopt(of.fd(), SOL_SOCKET, name, &value, &size), 0);
        return value;
    };
    for (const bool wanted : {true, false}) {
        const weir::io::listener made = weir::io::listen(
            address::loopback(0), {.reuse_address = wanted, .reuse_port = !wanted});
        EXPECT_EQ(option(made, SO_REUSEADDR), wanted ? 1 : 0);
        EXPECT_EQ(option(made, SO_REUSEPORT), wanted ? 0 : 1);
    }
    co_return;
}

// As other servers do: ':8080' serves clients of both protocols, and shows each its own address.
WEIR_IO_TEST(Listener, APortAloneIsIpv6AndIpv4) {
    weir::io::listener both = weir::io::listen(address::parse(":0"));
    const std::uint16_t port = both.local_address().port();
    for (const address& own : {address::loopback(port), address::loopback_v6(port)}) {
        weir::io::socket client;
        try {
            client = co_await weir::io::connect(own);
        } catch (const weir::io_error&) {
            EXPECT_EQ(own.kind(), address::family::ipv6);  // a machine without IPv6
            continue;
        }
        const weir::io::socket peer = co_await both.accept();
        EXPECT_EQ(peer.remote_address(), client.local_address());
        EXPECT_EQ(peer.local_address(), own);
        EXPECT_EQ(peer.remote_address().kind(), own.kind());
    }
    weir::io::listener one = weir::io::listen(address::parse("[::]:0"), {.only_v6 = true});
    bool is_refused = false;
    try {
        co_await weir::io::connect(address::loopback(one.local_address().port()));
    } catch (const weir::io_error&) {
        is_refused = true;
    }
    EXPECT_TRUE(is_refused);
}

// Makes the kernel answer as one without IPv6, for this thread.
bool forbid_ipv6() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{sizeof program / sizeof program[0], program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(Listener, APortAloneIsIpv4WhereThereIsNoIpv6) {
    bool is_supported = false;
    std::string listened, wanted_v6, datagrams;
    std::thread([&] {
        is_supported = forbid_ipv6();
        if (!is_supported) {
            return;
        }
        listened = weir::io::listen(address::parse(":0")).local_address().host();
        datagrams = weir::udp::bind(address::parse(":0")).local_address().host();
        try {
            weir::io::listen(address::parse("[::]:0"), {.only_v6 = true});
        } catch (const weir::io_error& error) {
            wanted_v6 = error.what();
        }
    }).join();
    if (!is_supported) {
        GTEST_SKIP() << "no seccomp here";
    }
    EXPECT_EQ(listened, "0.0.0.0");
    EXPECT_EQ(datagrams, "0.0.0.0");
    EXPECT_NE(wanted_v6.find("Address family not supported"), std::string::npos) << wanted_v6;
}

WEIR_IO_TEST(Listener, SeveralTasksAcceptAndClosingEndsThem) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    int accepted = 0;
    int ended = 0;
    std::vector<weir::handle<void>> accepting;
    for (int task = 0; task < 3; ++task) {
        accepting.push_back(weir::spawn([&]() -> weir::task<> {
            try {
                for (;;) {
                    const weir::io::socket each = co_await listener.accept();
                    ++accepted;
                }
            } catch (const weir::io_error&) {
                ++ended;
            }
        }));
    }
    for (int number = 0; number < 10; ++number) {
        const weir::io::socket each = co_await weir::io::connect(listener.local_address());
    }
    while (accepted < 10) {
        co_await weir::sleep(1ms);
    }
    listener.close();
    for (auto& each : accepting) {
        co_await each;
    }
    EXPECT_EQ(ended, 3);
}

// Another process may have the same listener: closing ours is not to silence its own.
WEIR_IO_TEST(Listener, ClosingLeavesACopyOfItListening) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    weir::io::listener copy;
    copy = weir::io::listener(::fcntl(listener.fd(), F_DUPFD_CLOEXEC, 0));
    auto accepting = weir::spawn(
        [&]() -> weir::task<> { EXPECT_THROW(co_await listener.accept(), weir::io_error); });
    co_await weir::sleep(1ms);
    listener.close();
    co_await accepting;
    const weir::io::socket client = co_await weir::io::connect(at);
    weir::io::listener released(copy.release());
    EXPECT_FALSE(copy.is_open());
    const weir::io::socket server = co_await released.accept();
}

TEST(Listener, RefusesInvalidOptions) {
    const auto message = [](const address& at, weir::io::listen_options options) {
        try {
            weir::io::listen(at, options);
        } catch (const weir::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_EQ(message(address(), {}), "listen: the address is empty");
    EXPECT_EQ(message(address::loopback(0), {.backlog = 0}),
              "listen: backlog is 0; it must be at least 1");
}

}  // namespace
