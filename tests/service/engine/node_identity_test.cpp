// SPDX-License-Identifier: MIT
#include "service/engine/node_identity.hpp"

#include "support/peers/program.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace {

using namespace weir;
using namespace weir::service;

// Another user's process may be hidden from /proc (hidepid): then it is not there, and alive all
// the same.
TEST(NodeIdentity, WhatCannotBeSeenIsNotDead) {
    const weir_test::temporary_folder hidden;
    const std::string nothing = hidden.path().string();
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    EXPECT_TRUE(weir::service::detail::is_running(child));
    EXPECT_TRUE(weir::service::detail::is_running(child, nothing));
    EXPECT_TRUE(weir::service::detail::is_running(1, nothing));  // may belong to another user
    ::kill(child, SIGKILL);
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
    EXPECT_FALSE(
        weir::service::detail::is_running(child));  // it ended, though it still has its number
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(weir::service::detail::is_running(child));
    EXPECT_FALSE(weir::service::detail::is_running(child, nothing));
    for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
        EXPECT_TRUE(weir::service::detail::is_running(none)) << none;
    }
    node_record other;
    other.host = weir::service::detail::this_host();
    other.pid = child;
    EXPECT_TRUE(weir::service::detail::is_gone(other));
    other.host += " elsewhere";
    EXPECT_FALSE(weir::service::detail::is_gone(other));
}

}  // namespace
