// SPDX-License-Identifier: MIT
// The options of a connection.

#include "ws/support.hpp"

namespace {

using namespace ws_test;

TEST(Options, AreChecked) {
    const auto refused = [](const ws::connection_options& options, const char* name) {
        try {
            ws::check(options);
            ADD_FAILURE() << name;
        } catch (const weir::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        }
    };
    refused({.max_message = 0}, "max_message is 0");
    refused({.max_frames = 0}, "max_frames is 0");
    refused({.inbox_messages = 0}, "inbox_messages is 0");
    refused({.outbox_bytes = 0}, "outbox_bytes is 0");
    refused({.outbox_messages = 0}, "outbox_messages is 0");
    refused({.ping_interval = -1s}, "ping_interval is -1 s");
    refused({.ping_timeout = 0s}, "ping_timeout is 0 s");
    refused({.write_timeout = 0s}, "write_timeout is 0 s");
    refused({.close_timeout = -2s}, "close_timeout is -2 s");
}

}  // namespace
