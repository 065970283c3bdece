// SPDX-License-Identifier: MIT
// A message is an object of JSON with short names, since it shares 8000 bytes with all that the
// node tells: "f" from, "n" number, "l" lease, "w" workers that are free, "c" counters, "i"
// interest. Lists that do not fit are continued in further messages. What cannot be read is no
// message: it may come from a later version, which then tells in its own.

#include "service/cluster/news_message.hpp"

#include "service/api/json/json_writer.hpp"

#include <weir/http/json.hpp>
#include <weir/service/node_channel.hpp>

#include <algorithm>
#include <exception>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;

constexpr int version = 1;
constexpr std::size_t longest_event_text = 200;
constexpr std::size_t longest_name = 400;  // of what is read
constexpr std::size_t most_listed = 1000;

// Up to so many bytes, and whole characters.
std::string_view cut(std::string_view text, std::size_t most) {
    if (text.size() <= most) {
        return text;
    }
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return text.substr(0, end);
}

std::string rendered_event(const task_event& event) {
    std::string text;
    json_writer json(text);
    json.begin_array();
    json.text(event.id.text()).text(event.kind).text(event.queue);
    json.natural(static_cast<std::uint64_t>(event.view));
    json.natural(event.run).natural(event.failures).number(event.progress);
    json.text(cut(event.message, longest_event_text));
    json.integer(event.at.time_since_epoch().count());
    json.integer(event.due_at.time_since_epoch().count());
    json.integer(event.started_at.time_since_epoch().count());
    json.end_array();
    return text;
}

void write_interest(json_writer& json, const news_interest& wants) {
    json.key("i").begin_object();
    json.member("a", wants.all).member("e", wants.ends).member("w", wants.workers);
    json.key("t").begin_array();
    for (const task_id each : wants.tasks) {
        json.text(each.text());
    }
    json.end_array();
    json.end_object();
}

// Fills messages with items of several lists.
class encoder {
public:
    explicit encoder(const news_message& message) : message_(message) {}

    void add(std::size_t list, std::string item) {
        if (size_ + item.size() + 1 > room()) {
            finish();
        }
        size_ += item.size() + 1;
        std::string& to = lists_[list];
        to += to.empty() ? "" : ",";
        to += item;
    }
    std::vector<std::string> take() {
        finish();
        return std::move(messages_);
    }
    static constexpr const char* names[] = {"events", "ends", "ready", "cancelling"};

private:
    std::size_t room() {
        if (head_size_ == 0) {
            head_size_ = head().size();
        }
        constexpr std::size_t brackets = 80;
        return node_channel::max_message - head_size_ - brackets;
    }
    // An object that is not closed.
    std::string head() const {
        std::string text;
        json_writer json(text);
        json.begin_object();
        json.member("v", version).member("f", message_.from);
        json.member("n", message_.number + messages_.size());
        json.member("l", message_.node).member("w", message_.free);
        json.key("c").begin_array();
        json.natural(message_.counters.submitted).natural(message_.counters.started);
        json.natural(message_.counters.completed).natural(message_.counters.failed);
        json.end_array();
        write_interest(json, message_.wants);
        if (messages_.empty()) {
            json.member("asks", message_.asks).member("leaves", message_.leaves);
            json.member("queues", message_.has_changed_queues).member("more", message_.more);
            json.member("work_for", message_.work_for);
        }
        return text;
    }
    void finish() {
        if (!messages_.empty() && size_ == 0) {
            return;
        }
        std::string text = head();
        for (std::size_t i = 0; i < std::size(names); ++i) {
            if (!lists_[i].empty()) {
                text += ",\"" + std::string(names[i]) + "\":[" + lists_[i] + "]";
                lists_[i].clear();
            }
        }
        messages_.push_back(text + "}");
        size_ = 0;
    }

    const news_message& message_;
    std::string lists_[std::size(names)];
    std::size_t size_ = 0;
    std::size_t head_size_ = 0;
    std::vector<std::string> messages_;
};

// ---- reading: throws whatever boost::json throws

std::string text_of(const bj::value& from) {
    const bj::string& text = from.as_string();
    if (text.size() > longest_name) {
        throw std::length_error("news: a text is too long");
    }
    return {text.data(), text.size()};
}

task_id id_of(const bj::value& from) {
    return task_id::parse(text_of(from)).value();
}

template <class Number>
Number number_of_json(const bj::value& from) {
    return from.to_number<Number>();
}

const bj::array& list_of(const bj::object& from, const char* name) {
    static const bj::array none;
    const bj::value* const found = from.if_contains(name);
    if (found == nullptr) {
        return none;
    }
    const bj::array& list = found->as_array();
    if (list.size() > most_listed) {
        throw std::length_error("news: a list is too long");
    }
    return list;
}

timestamp time_of_json(const bj::value& from) {
    return timestamp(timestamp::duration(number_of_json<std::int64_t>(from)));
}

task_event event_of(const bj::array& from) {
    task_event event;
    event.id = id_of(from.at(0));
    event.kind = text_of(from.at(1));
    event.queue = text_of(from.at(2));
    const auto view = number_of_json<std::uint8_t>(from.at(3));
    if (view > static_cast<std::uint8_t>(task_view::waiting)) {
        throw std::out_of_range("news: a view");
    }
    event.view = static_cast<task_view>(view);
    event.run = number_of_json<std::uint32_t>(from.at(4));
    event.failures = number_of_json<std::uint32_t>(from.at(5));
    event.progress = number_of_json<double>(from.at(6));
    event.message = text_of(from.at(7));
    event.at = time_of_json(from.at(8));
    event.due_at = time_of_json(from.at(9));
    event.started_at = time_of_json(from.at(10));
    return event;
}

news_interest interest_of(const bj::object& from) {
    news_interest wants;
    wants.all = from.at("a").as_bool();
    wants.ends = from.at("e").as_bool();
    wants.workers = from.at("w").as_bool();
    for (const bj::value& each : list_of(from, "t")) {
        if (wants.tasks.size() < news_interest::max_tasks) {
            wants.tasks.insert(id_of(each));
        }
    }
    return wants;
}

bool flag_of(const bj::object& from, const char* name) {
    const bj::value* const found = from.if_contains(name);
    return found != nullptr && found->as_bool();
}

news_message message_of(const bj::object& from) {
    news_message message;
    message.from = text_of(from.at("f"));
    message.number = number_of_json<std::uint64_t>(from.at("n"));
    message.node = text_of(from.at("l"));
    message.free = number_of_json<std::size_t>(from.at("w"));
    const bj::array& counters = from.at("c").as_array();
    message.counters.submitted = number_of_json<std::uint64_t>(counters.at(0));
    message.counters.started = number_of_json<std::uint64_t>(counters.at(1));
    message.counters.completed = number_of_json<std::uint64_t>(counters.at(2));
    message.counters.failed = number_of_json<std::uint64_t>(counters.at(3));
    message.wants = interest_of(from.at("i").as_object());
    message.asks = flag_of(from, "asks");
    message.leaves = flag_of(from, "leaves");
    message.has_changed_queues = flag_of(from, "queues");
    if (const bj::value* const more = from.if_contains("more")) {
        message.more = number_of_json<std::uint64_t>(*more);
    }
    if (const bj::value* const work_for = from.if_contains("work_for")) {
        message.work_for = text_of(*work_for);
    }
    for (const bj::value& each : list_of(from, "cancelling")) {
        message.cancelling.push_back(id_of(each));
    }
    for (const bj::value& each : list_of(from, "events")) {
        message.events.push_back(event_of(each.as_array()));
    }
    for (const bj::value& each : list_of(from, "ends")) {
        const bj::array& end = each.as_array();
        const auto state = number_of_json<std::uint8_t>(end.at(1));
        if (state > static_cast<std::uint8_t>(task_state::cancelled)) {
            throw std::out_of_range("news: a state");
        }
        message.ends.emplace_back(id_of(end.at(0)), static_cast<task_state>(state));
    }
    for (const bj::value& each : list_of(from, "ready")) {
        const bj::array& place = each.as_array();
        message.ready.emplace_back(text_of(place.at(0)), text_of(place.at(1)));
    }
    return message;
}

}  // namespace

void news_interest::add(const news_interest& other) {
    all = all || other.all;
    ends = ends || other.ends;
    workers = workers || other.workers;
    tasks.insert(other.tasks.begin(), other.tasks.end());
}

std::vector<std::string> encode(const news_message& message) {
    encoder to(message);
    for (const task_id each : message.cancelling) {
        to.add(3, "\"" + each.text() + "\"");
    }
    for (const auto& [id, state] : message.ends) {
        to.add(1, "[\"" + id.text() + "\"," + std::to_string(static_cast<int>(state)) + "]");
    }
    for (const auto& [kind, queue] : message.ready) {
        std::string item;
        json_writer json(item);
        json.begin_array().text(kind).text(queue).end_array();
        to.add(2, std::move(item));
    }
    for (const task_event& each : message.events) {
        to.add(0, rendered_event(each));
    }
    return to.take();
}

std::optional<news_message> decode(std::string_view text) {
    try {
        const bj::value parsed = http::parse_json(text, {.max_depth = 8});
        const bj::object& object = parsed.as_object();
        if (number_of_json<int>(object.at("v")) != version) {
            return std::nullopt;
        }
        return message_of(object);
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace weir::service::detail
