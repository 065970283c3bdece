// SPDX-License-Identifier: MIT
#include "service/engine/node_identity.hpp"

#include "support/peers/program.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
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

// 'pid (name) state ...': the name may contain anything.
TEST(NodeIdentity, TheStateOfAProcessFollowsItsName) {
    const weir_test::temporary_folder folder;
    const std::string processes = folder.path().string();
    const std::string number = std::to_string(::getpid());
    std::filesystem::create_directory(folder.path() / number);
    const auto runs_with = [&](const std::string& stat) {
        std::ofstream(folder.path() / number / "stat") << stat;
        return weir::service::detail::is_running(::getpid(), processes);
    };
    EXPECT_TRUE(runs_with(number + " (weir) S 1 2 3"));
    EXPECT_FALSE(runs_with(number + " (weir) Z 1 2 3"));
    EXPECT_FALSE(runs_with(number + " (weir) X 1 2 3"));
    EXPECT_TRUE(runs_with(number + " (a) Z b) R 1"));
    EXPECT_FALSE(runs_with(number + " (a) R b) Z 1"));
    for (const char* const cut : {"", "7", "7 (weir", "7 (weir)", "7 (weir) "}) {
        EXPECT_TRUE(runs_with(cut)) << "it is seen as alive: " << cut;
    }
}

TEST(NodeIdentity, ANameIsInForceAsLongAsItLives) {
    node_record own;
    own.host = weir::service::detail::this_host();
    own.pid = weir::service::detail::this_process();
    {
        const weir::service::detail::node_name name(0xabcdef);
        const weir::service::detail::node_name other(0xabcdef);
        EXPECT_NE(name.text(), other.text());
        EXPECT_TRUE(name.text().starts_with(std::to_string(::getpid()) + "."));
        EXPECT_TRUE(name.text().ends_with(".abcdef"));
        own.id = name.text();
        EXPECT_FALSE(weir::service::detail::is_gone(own));
        node_record elsewhere = own;
        elsewhere.host = "another machine";
        EXPECT_FALSE(weir::service::detail::is_gone(elsewhere));
    }
    EXPECT_TRUE(weir::service::detail::is_gone(own));
    own.host = "another machine";
    EXPECT_FALSE(weir::service::detail::is_gone(own)) << "that cannot be known";
    own.host = weir::service::detail::this_host();
    own.pid = ::getppid();
    EXPECT_FALSE(weir::service::detail::is_gone(own)) << "the parent lives";
}

TEST(NodeIdentity, TheHostIsMachineBootAndNameSpace) {
    const std::string& host = weir::service::detail::this_host();
    EXPECT_EQ(std::count(host.begin(), host.end(), ' '), 2);
    EXPECT_NE(host.find("pid:["), std::string::npos) << host;
    EXPECT_EQ(weir::service::detail::this_process(), ::getpid());
}

}  // namespace
