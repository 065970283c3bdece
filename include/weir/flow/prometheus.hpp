// SPDX-License-Identifier: MIT
// Metrics in the Prometheus text exposition format 0.0.4.
//
//     weir::metrics all;
//     auto shown = all.add(breaker);          // for the lifetime of `shown`
//     std::string page = all.prometheus();
#pragma once

#include <weir/flow/telemetry.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace weir {

// Collects the samples of all sources, grouped by metric as the format requires.
class prometheus_writer final : public metric_writer {
public:
    using metric_writer::counter;
    using metric_writer::gauge;
    void counter(std::string_view name, std::string_view help, std::span<const metric_label> labels,
                 double value) override;
    void gauge(std::string_view name, std::string_view help, std::span<const metric_label> labels,
               double value) override;
    void histogram(std::string_view name, std::string_view help,
                   std::span<const metric_label> labels, std::span<const double> bounds,
                   std::span<const std::uint64_t> counts, std::uint64_t count, double sum) override;

    // The text of everything written so far, sorted by metric name.
    std::string text() const;

private:
    struct family {
        const char* type = "";
        std::string help;
        std::string samples;
        std::set<std::string> sources;  // their labels: the format allows each set of labels once
    };
    // Null if a sample with these labels exists already: pipelines that share a policy both write
    // it.
    family* family_for(std::string_view name, std::string_view help, const char* type,
                       std::span<const metric_label> labels);

    std::map<std::string, family, std::less<>> families_;
};

// A set of sources that have write_metrics(metric_writer&). Not thread-safe.
class metrics {
public:
    // Keeps a source in the set during its lifetime. The set must outlive it.
    class [[nodiscard]] registration {
    public:
        registration() noexcept = default;
        registration(registration&& other) noexcept
            : set_(std::exchange(other.set_, nullptr)), id_(other.id_) {}
        registration& operator=(registration&& other) noexcept {
            registration old(std::move(*this));
            set_ = std::exchange(other.set_, nullptr);
            id_ = other.id_;
            return *this;
        }
        ~registration() {
            if (set_ != nullptr) {
                set_->sources_.erase(id_);
            }
        }

    private:
        friend class metrics;
        registration(metrics& set, std::uint64_t id) noexcept : set_(&set), id_(id) {}
        metrics* set_ = nullptr;
        std::uint64_t id_ = 0;
    };

    metrics() = default;
    metrics(const metrics&) = delete;
    metrics& operator=(const metrics&) = delete;

    template <class Source>
        requires requires(const Source& source, metric_writer& to) { source.write_metrics(to); }
    registration add(const Source& source) {
        sources_.emplace(++last_id_, entry{&source, [](const void* from, metric_writer& to) {
                                               static_cast<const Source*>(from)->write_metrics(to);
                                           }});
        return registration(*this, last_id_);
    }
    template <class Source>
    registration add(const Source&& temporary) = delete;  // the set refers to it

    void write(metric_writer& to) const {
        for (const auto& [id, source] : sources_) {
            source.write(source.object, to);
        }
    }
    std::string prometheus() const {
        prometheus_writer page;
        write(page);
        return page.text();
    }

private:
    struct entry {
        const void* object;
        void (*write)(const void*, metric_writer&);
    };
    std::map<std::uint64_t, entry> sources_;
    std::uint64_t last_id_ = 0;
};

}  // namespace weir
