// SPDX-License-Identifier: MIT
// A member of a hub that is no connection.
#pragma once

#include <weir/ws/hub.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace hub_test {

namespace ws = weir::ws;

// A member that notes what it hears, with an outbox of some size.
struct ear {
    ws::posted post(const ws::frame& message) {
        if (!is_open) {
            return ws::posted::refused;
        }
        heard.emplace_back(message.content().text());
        frames.insert(message.wire().data());
        if (on_post) {
            on_post(heard.back());
        }
        return is_open ? ws::posted::queued : ws::posted::refused;
    }
    ws::outbox_room room() const { return left; }
    std::string all() const {
        std::string text;
        for (const std::string& each : heard) {
            text += (text.empty() ? "" : " ") + each;
        }
        return text;
    }

    std::vector<std::string> heard;
    std::set<const void*> frames;
    std::function<void(const std::string&)> on_post;
    ws::outbox_room left;
    bool is_open = true;
};

}  // namespace hub_test
