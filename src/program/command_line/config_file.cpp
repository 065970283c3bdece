// SPDX-License-Identifier: MIT
// Read letter by letter, since a list may span lines and a text may contain '#'. Unknown or invalid
// settings are errors: a configuration that is read in part is worse than none.

#include "program/command_line/config_file.hpp"

#include "program/output/text.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace weir::program {

namespace {

bool is_name_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
}

class reader {
public:
    reader(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {
        if (text_.starts_with("\xef\xbb\xbf")) {
            at_ = 3;
        }
    }

    std::vector<config_entry> read() {
        for (skip(true); !is_end(); skip(true)) {
            if (next() == '[') {
                section_ = section();
            } else {
                add(entry());
            }
            skip(false);
            if (!is_end() && next() != '\n') {
                fail("one option per line; unexpected: '" + rest_of_line() + "'");
            }
        }
        return std::move(all_);
    }

private:
    bool is_end() const { return at_ >= text_.size(); }
    char next() const { return text_[at_]; }
    char take() {
        line_ += next() == '\n' ? 1 : 0;
        return text_[at_++];
    }
    std::string place() const { return path_ + ":" + std::to_string(line_); }
    [[noreturn]] void fail(const std::string& why) const {
        throw invalid_argument(place() + ": " + why);
    }
    std::string rest_of_line() const {
        std::string rest = text_.substr(at_, text_.find('\n', at_) - at_);
        rest.erase(rest.find_last_not_of(" \t\r") + 1);
        return shown(rest, 60);
    }

    // Skips blanks and comments, and with `lines` line ends too.
    void skip(bool lines) {
        while (!is_end()) {
            if (next() == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (next() == ' ' || next() == '\t' || next() == '\r' ||
                       (lines && next() == '\n')) {
                take();
            } else {
                return;
            }
        }
    }

    std::string name() {
        std::string found;
        while (!is_end() && is_name_letter(next())) {
            found += take();
        }
        return found;
    }

    std::string section() {
        take();
        skip(false);
        const std::string found = name();
        skip(false);
        if (found.empty() || is_end() || next() != ']') {
            fail("a section is the name of a command in brackets, such as [serve]");
        }
        take();
        return found;
    }

    config_entry entry() {
        config_entry entry;
        entry.section = section_;
        entry.place = place();
        const std::string line = rest_of_line();
        entry.key = name();
        skip(false);
        if (entry.key.empty() || is_end() || next() != '=') {
            fail("'" + line + "' is no option; write: option = value");
        }
        take();
        skip(false);
        if (!is_end() && next() == '[') {
            entry.is_list = true;
            list(entry.values);
        } else {
            entry.values.push_back(value(""));
        }
        return entry;
    }

    void list(std::vector<std::string>& into) {
        take();
        for (skip(true);; skip(true)) {
            if (!is_end() && next() == ']') {
                take();
                return;
            }
            into.push_back(value(",]"));
            skip(true);
            if (!is_end() && next() == ',') {
                take();
            } else if (is_end() || next() != ']') {
                fail("a list is [\"one\", \"two\"]: a comma or ']' is missing");
            }
        }
    }

    // Without quotes a value ends at any of `ends`, at a comment and at the end of the line.
    std::string value(std::string_view ends) {
        if (!is_end() && (next() == '"' || next() == '\'')) {
            return quoted(take());
        }
        std::string found;
        while (!is_end() && next() != '\n' && next() != '#' &&
               ends.find(next()) == std::string_view::npos) {
            found += take();
        }
        found.erase(found.find_last_not_of(" \t\r") + 1);
        if (found.empty()) {
            fail("the value is missing; an empty text is \"\"");
        }
        return found;
    }

    std::string quoted(char quote) {
        std::string found;
        for (;;) {
            if (is_end() || next() == '\n') {
                fail(std::string("the text has no end: ") + quote + " is missing");
            }
            const char letter = take();
            if (letter == quote) {
                return found;
            }
            found += letter == '\\' && quote == '"' ? escaped() : letter;
        }
    }

    char escaped() {
        constexpr std::string_view names = "\"\\nt";
        constexpr std::string_view values = "\"\\\n\t";
        const std::size_t index = is_end() ? std::string_view::npos : names.find(next());
        if (index == std::string_view::npos) {
            fail("after \\ there may be \", \\, n or t; between '...' it means nothing");
        }
        take();
        return values[index];
    }

    void add(config_entry entry) {
        for (const config_entry& each : all_) {
            if (each.section == entry.section && each.key == entry.key) {
                throw invalid_argument(entry.place + ": " + entry.key + " was given before, at " +
                                       each.place +
                                       "; several values are a list: [\"one\", \"two\"]");
            }
        }
        all_.push_back(std::move(entry));
    }

    std::string path_;
    std::string text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::string section_;
    std::vector<config_entry> all_;
};

}  // namespace

std::vector<config_entry> read_config(const std::string& path) {
    errno = std::filesystem::is_directory(path) ? EISDIR : 0;
    std::ifstream in;
    if (errno == 0) {
        in.open(path, std::ios::binary);
    }
    if (!in.is_open()) {
        throw invalid_argument("the configuration file '" + path +
                               "' cannot be read: " + std::strerror(errno));
    }
    std::string text(std::istreambuf_iterator<char>(in), {});
    return reader(path, std::move(text)).read();
}

}  // namespace weir::program
