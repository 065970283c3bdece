// SPDX-License-Identifier: MIT
// Only tasks with secret members are parsed here.

#include "service/engine/secret_texts.hpp"

#include "base/quoted.hpp"

#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/problem.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <functional>
#include <optional>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;

constexpr std::string_view mask = "***";
constexpr std::size_t min_hidden = 4;  // shorter texts would hide half of any message
constexpr std::size_t max_paths = 20;
constexpr std::size_t max_path_bytes = 200;
constexpr std::size_t max_depth = 64;

bj::value parsed(std::string_view json) {
    return http::parse_json(json, {.max_depth = max_depth});
}

std::optional<bj::value> try_parse(std::string_view json) {
    try {
        return parsed(json);
    } catch (const http::problem&) {
        return std::nullopt;
    }
}

// Calls `visit` with each value at the path.
void visit_members(bj::value& in, std::string_view path,
                   const std::function<void(bj::value&)>& visit) {
    if (bj::array* const array = in.if_array()) {
        for (bj::value& each : *array) {
            visit_members(each, path, visit);
        }
        return;
    }
    bj::object* const object = in.if_object();
    if (object == nullptr) {
        return;
    }
    const std::string_view name = path.substr(0, path.find('.'));
    if (bj::value* const found = object->if_contains(name)) {
        if (name.size() == path.size()) {
            visit(*found);
        } else {
            visit_members(*found, path.substr(name.size() + 1), visit);
        }
    }
}

// All texts and numbers in a value.
void collect(const bj::value& from, std::vector<std::string>& texts,
             std::vector<std::string>& numbers) {
    if (const bj::array* const array = from.if_array()) {
        for (const bj::value& each : *array) {
            collect(each, texts, numbers);
        }
    } else if (const bj::object* const object = from.if_object()) {
        for (const auto& each : *object) {
            collect(each.value(), texts, numbers);
        }
    } else if (const bj::string* const text = from.if_string()) {
        texts.emplace_back(text->data(), text->size());
    } else if (from.is_number()) {
        numbers.push_back(http::to_json(from));
        texts.push_back(numbers.back());
    }
}

void replace_all(std::string& in, std::string_view what) {
    for (std::size_t at = in.find(what); at != std::string::npos;
         at = in.find(what, at + mask.size())) {
        in.replace(at, what.size(), mask);
    }
}

}  // namespace

std::string shown_payload(const new_task& task) {
    std::optional<bj::value> payload = try_parse(task.payload);
    if (!payload) {
        return http::to_json(bj::value(mask));
    }
    for (const std::string& path : task.secret) {
        visit_members(*payload, path, [](bj::value& value) { value = mask; });
    }
    return http::to_json(*payload);
}

void check_secret(const new_task& task) {
    if (task.secret.empty()) {
        return;
    }
    if (task.secret.size() > max_paths) {
        throw invalid_value("secret", "task: 'secret' names " + std::to_string(task.secret.size()) +
                                          " members; up to 20 are allowed");
    }
    bj::value payload = parsed(task.payload);
    for (const std::string& path : task.secret) {
        bool is_found = false;
        if (path.size() <= max_path_bytes) {
            visit_members(payload, path, [&](bj::value&) { is_found = true; });
        }
        if (!is_found) {
            throw invalid_value("secret", "task: 'secret' names " + base::quoted(path, 60) +
                                              ", which is not a member of the payload; a path is "
                                              "written as card.number");
        }
    }
}

secret_texts::secret_texts(const new_task& task) {
    std::optional<bj::value> payload = try_parse(task.payload);
    if (!payload) {
        hides_all_ = true;
        return;
    }
    std::vector<std::string> plain;
    for (const std::string& path : task.secret) {
        visit_members(*payload, path, [&](bj::value& value) { collect(value, plain, numbers_); });
    }
    for (const std::string& each : plain) {
        if (each.size() >= min_hidden) {
            const std::string quoted = http::to_json(bj::value(each));
            values_.push_back(quoted.substr(1, quoted.size() - 2));
            values_.push_back(http::encode_component(each));
            values_.push_back(each);
        }
    }
    std::sort(values_.begin(), values_.end(),
              [](const std::string& left, const std::string& right) {
                  return left.size() != right.size() ? left.size() > right.size() : left < right;
              });
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
}

// Handlers cut long texts: a part of a value at the end is hidden as well.
std::string secret_texts::without(std::string_view text) const {
    if (hides_all_) {
        return std::string(mask);
    }
    std::string kept(text);
    for (const std::string& each : values_) {
        replace_all(kept, each);
    }
    for (const std::string& each : values_) {
        for (std::size_t size = std::min(each.size() - 1, kept.size()); size >= min_hidden;
             --size) {
            if (kept.ends_with(std::string_view(each).substr(0, size))) {
                kept.replace(kept.size() - size, size, mask);
                break;
            }
        }
    }
    return kept;
}

std::string secret_texts::without_in_json(std::string json) const {
    std::optional<bj::value> value = try_parse(json);
    if (hides_all_ || !value) {
        return http::to_json(bj::value(without(json)));  // too deep to look into
    }
    bool is_changed = false;
    const std::function<void(bj::value&)> hide = [&](bj::value& each) {
        if (bj::array* const array = each.if_array()) {
            std::for_each(array->begin(), array->end(), hide);
        } else if (bj::object* const object = each.if_object()) {
            bj::object kept;
            for (auto& member : *object) {
                const std::string name = without(member.key());
                is_changed = is_changed || name != member.key();
                hide(member.value());
                kept[name] = std::move(member.value());
            }
            *object = std::move(kept);
        } else if (const bj::string* const text = each.if_string()) {
            const std::string plain(text->data(), text->size());
            std::string hidden = without(plain);
            if (hidden != plain) {
                is_changed = true;
                each = std::move(hidden);
            }
        } else if (each.is_number() && std::find(numbers_.begin(), numbers_.end(),
                                                 http::to_json(each)) != numbers_.end()) {
            is_changed = true;
            each = mask;
        }
    };
    hide(*value);
    return is_changed ? http::to_json(*value) : json;
}

std::string hidden_in(const new_task& task, std::string_view text) {
    return task.secret.empty() ? std::string(text) : secret_texts(task).without(text);
}

std::string hidden_in_json(const new_task& task, std::string json) {
    return task.secret.empty() ? std::move(json)
                               : secret_texts(task).without_in_json(std::move(json));
}

}  // namespace weir::service::detail
