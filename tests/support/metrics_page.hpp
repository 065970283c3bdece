// SPDX-License-Identifier: MIT
// A check of the Prometheus text format and of its rules for names, shared by the tests of metrics.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace weir_test {

class metrics_page {
public:
    explicit metrics_page(const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; problem_.empty() && std::getline(lines, line);) {
            read(line);
        }
        close_family();
        if (problem_.empty() && !text.empty() && text.back() != '\n') {
            problem_ = "the last line has no end";
        }
    }

    // The first rule that the page breaks; empty if it is valid.
    const std::string& problem() const { return problem_; }
    // The types by the names of the families.
    const std::map<std::string, std::string>& families() const { return types_; }

private:
    struct buckets {
        double last_bound = -std::numeric_limits<double>::infinity();
        double last_count = 0;
        double sum = -1;
        double count = -1;
    };

    void complain(const std::string& what, std::string_view line) {
        if (problem_.empty()) {
            problem_ = what + ": " + std::string(line);
        }
    }
    static bool is_name(std::string_view text) {
        for (const char each : text) {
            if (!std::isalnum(static_cast<unsigned char>(each)) && each != '_') {
                return false;
            }
        }
        return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0]));
    }
    static std::string word(const std::string& line, std::size_t from) {
        return line.substr(from, line.find(' ', from) - from);
    }

    void read(const std::string& line) {
        if (line.starts_with("# HELP ")) {
            close_family();
            family_ = word(line, 7);
            if (!helps_.insert(family_).second) {
                complain("help twice", line);
            }
            if (line.size() <= 8 + family_.size()) {
                complain("no help", line);
            }
        } else if (line.starts_with("# TYPE ")) {
            read_type(line);
        } else if (line.starts_with("#") || line.empty()) {
            complain("neither help, type nor sample", line);
        } else {
            read_sample(line);
        }
    }
    void read_type(const std::string& line) {
        const std::string name = word(line, 7);
        const std::string type = word(line, 8 + name.size());
        if (name != family_ || !is_name(name)) {
            complain("type without help before it", line);
        }
        if (!types_.emplace(name, type).second) {
            complain("two families", line);
        }
        if ((type == "counter") != name.ends_with("_total")) {
            complain("counters, and only they, end in _total", line);
        }
        for (const char* const suffix : {"_bucket", "_count", "_sum", "_info"}) {
            if (name.ends_with(suffix)) {
                complain("a name with a reserved end", line);
            }
        }
        if (type != "counter" && type != "gauge" && type != "histogram") {
            complain("unknown type", line);
        }
    }
    void read_sample(const std::string& line) {
        const std::size_t blank = line.rfind(' ');
        const std::string series = line.substr(0, blank);
        const std::string number = line.substr(blank + 1);
        char* end = nullptr;
        const double value = std::strtod(number.c_str(), &end);  // takes NaN and +Inf, too
        if (number.empty() || *end != '\0') {
            complain("not a number", line);
        }
        if (!samples_.insert(series).second) {
            complain("twice", line);
        }
        const std::string name = series.substr(0, series.find('{'));
        std::string labels = series.substr(name.size());
        if (!types_.contains(family_)) {
            complain("sample before its type", line);
        } else if (types_[family_] != "histogram") {
            if (name != family_) {
                complain("not in its family", line);
            }
        } else if (name == family_ + "_bucket") {
            read_bucket(labels, value, line);
        } else if (name == family_ + "_sum") {
            histograms_[labels].sum = value;
        } else if (name == family_ + "_count") {
            histograms_[labels].count = value;
        } else {
            complain("not in its family", line);
        }
    }
    void read_bucket(std::string labels, double value, const std::string& line) {
        const std::size_t le = labels.rfind("le=\"");
        if (le == std::string::npos) {
            complain("a bucket without a bound", line);
            return;
        }
        const double bound = std::strtod(labels.c_str() + le + 4, nullptr);
        labels.erase(le == 1 ? 0 : le - 1);
        labels += le == 1 ? "" : "}";
        buckets& all = histograms_[labels];
        if (!(bound > all.last_bound) || value < all.last_count) {
            complain("buckets are not cumulative", line);
        }
        all.last_bound = bound;
        all.last_count = value;
    }
    void close_family() {
        for (const auto& [labels, each] : histograms_) {
            if (each.last_bound != std::numeric_limits<double>::infinity() ||
                each.count != each.last_count || each.sum < 0) {
                complain("a histogram without +Inf, _sum or _count", family_ + labels);
            }
        }
        histograms_.clear();
    }

    std::string problem_;
    std::string family_;
    std::map<std::string, std::string> types_;
    std::set<std::string> helps_;
    std::set<std::string> samples_;
    std::map<std::string, buckets> histograms_;  // of the current family, by their labels
};

// Empty if the page is valid.
inline std::string complaint_about(const std::string& page) {
    return metrics_page(page).problem();
}

}  // namespace weir_test
