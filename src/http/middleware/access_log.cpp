// SPDX-License-Identifier: MIT
// An entry is an object whose destructor writes the record. It lives in the middleware's frame, and
// so ends with the response or with a stop; for a streamed body, a lasting_entry lives in the body.

#include <weir/error.hpp>
#include <weir/http/access_log.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/principal.hpp>
#include <weir/http/request_id.hpp>
#include <weir/loop.hpp>
#include <weir/report.hpp>

#include <array>
#include <cstdio>
#include <ctime>

namespace weir::http {

namespace {

void append_escaped(std::string& to, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const char each : text) {
        const auto code = static_cast<unsigned char>(each);
        if (each == '\n') {
            to += "\\n";
        } else if (each == '\r') {
            to += "\\r";
        } else if (each == '\t') {
            to += "\\t";
        } else if (each == '"' || each == '\\') {
            to += '\\';
            to += each;
        } else if (code < 0x20 || code >= 0x7f) {
            to += "\\x";
            to += digits[code >> 4];
            to += digits[code & 15];
        } else {
            to += each;
        }
    }
}

void append_quoted(std::string& to, std::string_view text) {
    to += " \"";
    append_escaped(to, text.empty() ? "-" : text);
    to += '"';
}

// Blanks are escaped too: the fields of a line are separated by blanks.
void append_word(std::string& to, std::string_view text) {
    const std::size_t from = to.size();
    append_escaped(to, text.empty() ? "-" : text);
    for (std::size_t at = to.find(' ', from); at != std::string::npos; at = to.find(' ', at)) {
        to.replace(at, 1, "\\x20");
    }
}

std::string text_of(const io::address& client) {
    return client.is_ip()                                ? client.host()
           : client.kind() == io::address::family::local ? "unix:"
                                                         : "-";
}

std::string date_of(std::chrono::system_clock::time_point when) {
    constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::time_t seconds =
        std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(when));
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%02d/%s/%04d:%02d:%02d:%02d +0000", parts.tm_mday,
                  months[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                  parts.tm_hour, parts.tm_min, parts.tm_sec);
    return text.data();
}

void fill(access_record& record, const request& from) noexcept {
    record.client = from.client_address();
    record.method = from.method_name();
    record.target = from.target();
    record.route = from.route();
    record.minor_version = from.minor_version();
    record.referer = from.header("Referer");
    record.user_agent = from.header("User-Agent");
    if (const auto* const sender = from.attached<principal>()) {
        record.principal = sender->name;
    }
    if (const auto* const id = from.attached<request_id>()) {
        record.request_id = id->text;
    }
}

void write(access_log::sink& to, access_record& record, clock::time_point began) noexcept {
    try {
        record.duration = now() - began;
        to(record);
    } catch (...) {
        try {
            loop::current().tell({report_kind::callback_error,
                                  "the sink of access_log threw",
                                  std::current_exception(),
                                  {},
                                  {}});
        } catch (...) {
        }
    }
}

// For a request that outlives the entry.
class entry {
public:
    entry(access_log::sink& to, const request& request) : sink_(&to), request_(&request) {
        record.time = std::chrono::system_clock::now();
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() {
        if (sink_ != nullptr) {
            fill(record, *request_);
            write(*sink_, record, began_);
        }
    }
    void release() noexcept { sink_ = nullptr; }
    clock::time_point began() const noexcept { return began_; }

    access_record record;

private:
    access_log::sink* sink_;
    const request* request_;
    clock::time_point began_ = now();
};

// For a request that may end before the entry: copies the texts.
class lasting_entry {
public:
    lasting_entry(std::shared_ptr<access_log::sink> to, entry& from, const request& request)
        : sink_(std::move(to)), began_(from.began()), record_(from.record) {
        fill(record_, request);
        for (std::string_view* const each : texts()) {
            text_ += *each;
        }
        std::string_view rest = text_;
        for (std::string_view* const each : texts()) {
            *each = rest.substr(0, each->size());
            rest.remove_prefix(each->size());
        }
        record_.bytes = 0;
        from.release();
    }
    lasting_entry(const lasting_entry&) = delete;
    lasting_entry& operator=(const lasting_entry&) = delete;
    ~lasting_entry() { write(*sink_, record_, began_); }

    void count(std::uint64_t bytes) noexcept { *record_.bytes += bytes; }

private:
    std::array<std::string_view*, 7> texts() noexcept {
        return {&record_.principal, &record_.method,     &record_.target,    &record_.route,
                &record_.referer,   &record_.user_agent, &record_.request_id};
    }

    std::shared_ptr<access_log::sink> sink_;
    clock::time_point began_;
    access_record record_;
    std::string text_;
};

class counting_writer final : public body_writer {
public:
    counting_writer(body_writer& to, lasting_entry& entry) noexcept : to_(to), entry_(entry) {}
    task<> write(io::const_bytes data) override {
        entry_.count(data.size());
        return to_.write(data);
    }
    task<> flush() override { return to_.flush(); }

private:
    body_writer& to_;
    lasting_entry& entry_;
};

// The function of a stream, together with the entry that ends with it.
class counted_stream {
public:
    counted_stream(stream_function inner, std::unique_ptr<lasting_entry> entry) noexcept
        : inner_(std::move(inner)), entry_(std::move(entry)) {}
    task<> operator()(body_writer& to) {
        counting_writer counting(to, *entry_);
        co_await inner_(counting);
    }

private:
    stream_function inner_;
    std::unique_ptr<lasting_entry> entry_;
};

}  // namespace

std::string to_line(const access_record& record) {
    std::string line = text_of(record.client) + " - ";
    append_word(line, record.principal);
    line += " [" + date_of(record.time) + "] \"";
    append_escaped(line, record.method);
    line += ' ';
    append_escaped(line, record.target);
    line += " HTTP/1." + std::to_string(record.minor_version) + "\" ";
    line += record.code ? std::to_string(number_of(*record.code)) : "-";
    line += ' ';
    line += record.bytes ? std::to_string(*record.bytes) : "-";
    append_quoted(line, record.referer);
    append_quoted(line, record.user_agent);
    const auto micro =
        std::chrono::duration_cast<std::chrono::microseconds>(record.duration).count();
    std::array<char, 40> seconds{};
    std::snprintf(seconds.data(), seconds.size(), " %lld.%06lld",
                  static_cast<long long>(micro / 1'000'000),
                  static_cast<long long>(micro % 1'000'000));
    return line + seconds.data();
}

task<response> access_log::operator()(request& request, next inner) const {
    entry log_entry(*sink_, request);
    response answer = co_await answered(inner, request);
    log_entry.record.code = answer.status();
    const bool has_body = request.method() != method::head && may_have_body(answer.status());
    body::streamed* const stream = answer.body().as_stream();
    if (stream == nullptr || !has_body) {
        log_entry.record.bytes = has_body ? answer.body().size() : 0;
        co_return answer;
    }
    auto lasting = std::make_unique<lasting_entry>(sink_, log_entry, request);
    stream->write = counted_stream(std::move(stream->write), std::move(lasting));
    co_return answer;
}

}  // namespace weir::http
