// SPDX-License-Identifier: MIT
// node_channel: messages between the processes that share a store. They say what has just happened,
// so that nobody has to look; they may be lost, and nothing depends on them but the time until the
// next look. A store of several machines has one: store::channel().
#pragma once

#include <weir/task.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service {

class node_channel {
public:
    class receiver {
    public:
        // Messages may have been lost: listening begins here, at first or after a loss.
        virtual void listening_begins() noexcept = 0;
        // Also those of this process, in the order in which each process has sent them.
        virtual void heard(std::string_view message) noexcept = 0;

    protected:
        ~receiver() = default;
    };

    node_channel() = default;
    node_channel(const node_channel&) = delete;
    node_channel& operator=(const node_channel&) = delete;
    virtual ~node_channel() = default;

    // Listens until it is stopped; a lost connection is made again. Throws what makes listening
    // impossible for good.
    virtual task<> listen(receiver& to) = 0;
    // To all processes that listen. Text without NUL, of up to max_message bytes each. False: they
    // are lost, perhaps.
    virtual task<bool> send(std::vector<std::string> messages) = 0;

    static constexpr std::size_t max_message = 7900;
};

}  // namespace weir::service
