// SPDX-License-Identifier: MIT
// Programs and traces as text; what holds for all programs.

#include "program.hpp"

#include <algorithm>
#include <cstdlib>

namespace model {

namespace {

struct kind_shape {
    const char* name;
    bool has_time;
    bool has_target;
    bool has_variant;
};

kind_shape shape_of(kind what) {
    switch (what) {
        case kind::sleep:
            return {"sleep", true, false, false};
        case kind::yield:
            return {"yield", false, false, false};
        case kind::fail:
            return {"fail", false, false, false};
        case kind::await_handle:
            return {"await", true, true, false};
        case kind::wait_handle:
            return {"wait", false, true, false};
        case kind::shield_handle:
            return {"shield_handle", false, true, false};
        case kind::gather_handles:
            return {"gather_handles", false, false, true};
        case kind::cancel:
            return {"cancel", false, true, false};
        case kind::uncancel:
            return {"uncancel", false, false, false};
        case kind::extend:
            return {"extend", true, true, false};
        case kind::put:
            return {"put", true, false, false};
        case kind::get:
            return {"get", true, false, false};
        case kind::lock:
            return {"lock", true, false, true};
        case kind::generate:
            return {"generate", false, false, true};
        case kind::sequence:
            return {"sequence", false, false, false};
        case kind::attempt:
            return {"try", false, false, true};
        case kind::timeout:
            return {"timeout", true, false, true};
        case kind::scope:
            return {"scope", true, false, true};
        case kind::shield:
            return {"shield", false, false, false};
        case kind::finally:
            return {"finally", false, false, false};
        case kind::with:
            return {"with", false, false, false};
        case kind::defer:
            return {"defer", false, false, false};
        case kind::settle:
            return {"settle", false, false, false};
        case kind::intercept:
            return {"intercept", false, false, true};
        case kind::catchable:
            return {"catchable", false, false, true};
        case kind::spawn:
            return {"spawn", false, false, true};
        case kind::group:
            return {"group", false, false, true};
        case kind::group_spawn:
            return {"group_spawn", false, true, false};
        case kind::gather:
            return {"gather", false, false, false};
        case kind::gather_settled:
            return {"gather_settled", false, false, false};
        case kind::race:
            return {"race", false, false, false};
    }
    return {};
}

std::string time_text(std::int64_t nanoseconds) {
    std::string text = std::to_string(nanoseconds / 1'000'000);
    if (const std::int64_t rest = nanoseconds % 1'000'000; rest != 0) {
        const std::string digits = std::to_string(rest + 1'000'000);
        text += "." + digits.substr(1);
    }
    return text + "ms";
}

std::string target_text(int target) {
    return target > 0 ? "fiber " + std::to_string(target)
                      : "boundary " + std::to_string(std::abs(target));
}

void append(std::string& text, const node& at, int depth, const char* role) {
    const kind_shape shape = shape_of(at.what);
    std::string line = std::to_string(at.id);
    line.resize(std::max<std::size_t>(line.size(), 4), ' ');
    line += std::string(static_cast<std::size_t>(depth) * 2, ' ') + role + shape.name;
    if (shape.has_time && (at.time != 0 || at.what == kind::timeout)) {
        line += " " + time_text(at.time);
    }
    if (shape.has_target) {
        line += " " + target_text(at.target);
    }
    for (const int each : at.targets) {
        line += " " + target_text(each);
    }
    if (at.reason != 0) {
        line += " reason " + std::to_string(at.reason);
    }
    if (shape.has_variant && at.variant != 0) {
        line += " variant " + std::to_string(at.variant);
    }
    text += line + "\n";
    for (std::size_t each = 0; each < at.parts.size(); ++each) {
        append(text, at.parts[each], depth + 1, starts_fiber(at, each) ? "fiber: " : "");
    }
}

}  // namespace

bool starts_fiber(const node& of, std::size_t at) {
    switch (of.what) {
        case kind::spawn:
        case kind::group_spawn:
        case kind::gather:
        case kind::gather_settled:
        case kind::race:
            return true;
        case kind::group:
            return at > 0;
        default:
            return false;
    }
}

static int count(const node& at) {
    int sum = 1;
    for (const node& each : at.parts) {
        sum += count(each);
    }
    return sum;
}
int count_nodes(const program& of) {
    return count(of.main);
}

std::string to_text(const program& shown) {
    std::string text;
    append(text, shown.main, 0, "fiber: ");
    for (const event& each : shown.events) {
        text += "at " + time_text(each.time) + ": cancel " + target_text(each.target);
        if (each.reason != 0) {
            text += " reason " + std::to_string(each.reason);
        }
        text += "\n";
    }
    return text;
}

std::string to_text(const ending& shown) {
    switch (shown.how) {
        case ending::kind::none:
            return "-";
        case ending::kind::value:
            return "value " + std::to_string(shown.number);
        case ending::kind::error:
            return "error " + std::to_string(shown.number);
        case ending::kind::timed_out:
            return "timed_out";
        case ending::kind::cancelled:
            return "cancelled, reason " + std::to_string(shown.number);
        case ending::kind::misuse:
            return "invalid_state";
        case ending::kind::stopped:
            return "stopped, reason " + std::to_string(shown.number);
        case ending::kind::group:
            break;
    }
    std::string text = "several (";
    for (const ending& each : shown.parts) {
        text += (text.back() == '(' ? "" : "; ") + to_text(each);
    }
    return text + ")";
}

namespace {

std::string to_text(const record& shown) {
    if (shown.begun < 0 && shown.fiber.how == ending::kind::none) {
        return "not reached";
    }
    std::string text;
    if (shown.begun >= 0) {
        text = "from " + time_text(shown.begun) + " to " +
               (shown.ended >= 0 ? time_text(shown.ended) : "?") + ": " + model::to_text(shown.how);
    }
    if (shown.seen.how != ending::kind::none) {
        text += "; saw " + model::to_text(shown.seen);
    }
    if (shown.fiber.how != ending::kind::none) {
        text += "; fiber: " + model::to_text(shown.fiber) + ", cancelling " +
                std::to_string(shown.cancelling);
    }
    return text;
}

}  // namespace

std::string difference(const trace& expected, const trace& seen) {
    std::string text;
    for (std::size_t id = 1; id < expected.size() && id < seen.size(); ++id) {
        if (expected[id] != seen[id]) {
            text += "node " + std::to_string(id) + "\n  rules: " + to_text(expected[id]) +
                    "\n  Weir:  " + to_text(seen[id]) + "\n";
        }
    }
    return text;
}

}  // namespace model
